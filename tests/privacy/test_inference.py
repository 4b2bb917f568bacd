"""Paid schemas: what they find, what they cost, and that the threshold keeps its promise."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.exceptions import BudgetExceededError, SchemaError
from dpforest.privacy import inference
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.inference import category_threshold
from dpforest.privacy.mechanisms.noise import discrete_laplace, laplace_scale
from dpforest.records.value_counts import N_MAGNITUDES, level_counts, magnitude, magnitude_counts
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.tables.columns import Column

N = 4000


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    return {
        "age": rng.integers(18, 91, N),
        "balance": rng.normal(0, 900, N),
        "tiny": rng.uniform(1e-7, 2e-7, N),
        "colour": rng.choice(["red", "green", "blue"], N, p=[0.6, 0.3, 0.1]),
        "member": rng.random(N) < 0.5,
        "ill": rng.choice(["no", "yes"], N),
    }


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_finds_ranges_categories_and_classes(columns, make):
    schema = Schema.infer(
        make(columns), target="ill", epsilon=5, delta=1e-6, universe=None, random_state=1
    )
    expected = Schema(
        (
            NumericFeature("age", 16, 128, integer=True),
            NumericFeature("balance", -4096, 4096),
            NumericFeature("tiny", 2.0**-24, 2.0**-22),
            CategoricalFeature("colour", ("blue", "green", "red")),
            CategoricalFeature("member", (False, True)),
        ),
        Target("ill", classes=("no", "yes")),
    )
    balance = schema.features[1]
    assert (
        schema.features[:1] + schema.features[2:] == expected.features[:1] + expected.features[2:]
    )
    assert schema.target == expected.target
    # How far into the tails it sees depends on the draw, a power of two more or less.
    assert -4096 <= balance.low <= -1024
    assert 1024 <= balance.high <= 4096


def test_the_ledger_has_one_entry_a_column_and_the_whole_budget(columns):
    frame = pd.DataFrame(columns)
    schema = Schema.infer(frame, target="ill", epsilon=1, delta=1e-5, random_state=0)
    ledger = schema.ledger
    assert [entry.label for entry in ledger.entries] == [
        "categories of 'ill'",
        "bounds of 'age'",
        "bounds of 'balance'",
        "bounds of 'tiny'",
        "categories of 'colour'",
    ]
    assert ledger.epsilon == pytest.approx(1, rel=1e-8)
    assert ledger.delta == pytest.approx(1e-5)
    assert ledger.guarantee.epsilon <= 1
    assert "noise: reproducible, not for release" in ledger.notes
    assert not Schema.infer(frame[["age"]], epsilon=1).ledger.reproducible_noise


def test_the_ledger_is_kept_in_files_but_is_no_part_of_equality(columns, tmp_path):
    schema = Schema.infer(pd.DataFrame(columns)[["age"]], epsilon=1, random_state=0)
    schema.save(tmp_path / "schema.json")
    loaded = Schema.load(tmp_path / "schema.json")
    assert loaded == schema == Schema(schema.features)
    assert loaded.ledger.to_dict() == schema.ledger.to_dict()


def test_declared_universes_and_booleans_are_free(columns):
    frame = pd.DataFrame(columns)[["colour", "member", "ill"]]
    universe = {"colour": ["red", "violet"], "ill": ["no", "yes"]}
    schema = Schema.infer(frame, target="ill", epsilon=0.5, universe=universe)
    assert schema.features[0] == CategoricalFeature("colour", ("red", "violet"))
    assert schema.classes == ("no", "yes")
    assert schema.ledger.epsilon == 0
    assert schema.ledger.entries == ()


def test_target_may_be_numbers_or_come_beside(columns):
    frame = pd.DataFrame(columns)[["age"]]
    schema = Schema.infer(frame, target=columns["balance"], epsilon=2, random_state=0)
    assert schema.target.name == "target"
    assert schema.target.low < -500
    whole = Schema.infer(frame, target=columns["member"] + 1, epsilon=2, delta=1e-6, random_state=0)
    assert whole.classes == (1, 2)
    truth = Schema.infer(frame, target=columns["member"], epsilon=2, random_state=0)
    assert truth.classes == (False, True)
    number = Schema.infer(
        frame, target=columns["member"], task="regression", epsilon=2, random_state=0
    )
    assert number.target_bounds == (0, 1)


def test_rare_values_are_not_named():
    # Seeded; without a seed a name would show with probability at most delta.
    names = [f"person {i}" for i in range(300)]
    frame = pd.DataFrame({"name": names, "kind": ["a"] * 150 + ["b"] * 150})
    schema = Schema.infer(frame, epsilon=1, delta=1e-6, random_state=0)
    assert schema.feature_names == ("kind",)
    assert any("'name' was left out" in note for note in schema.ledger.notes)
    assert "person" not in str(schema) + schema.ledger.explain()
    with pytest.raises(SchemaError, match="universe"):
        Schema.infer(frame[["name"]], epsilon=1, delta=1e-6, random_state=0)


def test_too_many_categories_keep_the_most_frequent():
    values = np.repeat(np.arange(300), np.arange(100, 400)).astype(str)
    schema = Schema.infer(pd.DataFrame({"a": values}), epsilon=20, delta=1e-6, random_state=0)
    kept = schema.features[0].categories
    assert len(kept) == 255
    assert "299" in kept
    assert "0" not in kept


def test_without_enough_records_the_bounds_are_called_a_guess():
    schema = Schema.infer([[1.0], [2.0]], epsilon=0.01, random_state=0)
    assert any("a guess" in note for note in schema.ledger.notes)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"epsilon": 0}, ValueError, ["epsilon must be positive"]),
        ({"epsilon": -1}, ValueError, ["epsilon must be positive"]),
        ({"epsilon": math.inf}, ValueError, ["epsilon must be positive and finite"]),
        ({"epsilon": 1}, ValueError, ["delta must be above 0", "'colour'", "universe"]),
        ({"epsilon": 1, "delta": 1}, ValueError, ["delta"]),
        ({"epsilon": 1, "delta": 1e-6, "universe": {"x": "ab"}}, ValueError, ["universe", "'x'"]),
        ({"epsilon": 1, "delta": 1e-6, "target": "y"}, SchemaError, ["'y'"]),
        ({"epsilon": 1, "delta": 1e-6, "neighbors": "x"}, ValueError, ["neighbors"]),
    ],
)
def test_bad_questions_are_refused(columns, keywords, error, words):
    with pytest.raises(error) as caught:
        Schema.infer(pd.DataFrame(columns), **keywords)
    for word in words:
        assert word in str(caught.value)


def test_a_target_of_one_class_says_what_is_spent():
    with pytest.raises(SchemaError, match=r"epsilon = 0\.5 is spent"):
        Schema.infer([[1.0]] * 900, target=["a"] * 900, epsilon=1, delta=1e-6, random_state=0)


def test_debit_comes_before_reading(columns, monkeypatch):
    def refuse(self, entry):
        raise BudgetExceededError("no")

    def read(column):
        raise AssertionError("read before it was paid for")

    monkeypatch.setattr(Ledger, "debit", refuse)
    monkeypatch.setattr(inference, "magnitude_counts", read)
    monkeypatch.setattr(inference, "level_counts", read)
    with pytest.raises(BudgetExceededError):
        Schema.infer(pd.DataFrame(columns), epsilon=1, delta=1e-6)
    with pytest.raises(BudgetExceededError):
        Schema.infer(pd.DataFrame(columns)[["age"]], epsilon=1)


def test_each_record_is_in_one_cell():
    values = np.array([0, 1, 1.5, 2, -2, 1e300, np.inf, -np.inf, np.nan, 1e-300])
    counts = magnitude_counts(Column(values, "a"))
    assert counts.sum() == 9
    cells = {int(k) - N_MAGNITUDES: int(counts[k]) for k in np.flatnonzero(counts)}
    one = 64
    assert (cells[one], cells[one + 1], cells[-one - 1]) == (1, 2, 1)
    assert (cells[0], cells[N_MAGNITUDES], cells[-N_MAGNITUDES]) == (2, 2, 1)
    assert (magnitude(one - 1), magnitude(one), magnitude(0)) == (0.5, 1.0, 0.0)


def test_each_record_is_in_one_category():
    mixed = np.array(["1", 1, 1.0, True, "a", None, "b", "a"], dtype=object)
    for values in (mixed, mixed[::-1]):
        levels, counts = level_counts(Column(values, "a"))
        assert levels == ["1", "a", "b"]
        assert counts.tolist() == [4, 2, 1]


def laplace_tail(scale, m):
    """P(Z >= m) for discrete Laplace noise, m >= 1."""
    q = math.exp(-1 / scale)
    return q**m / (1 + q)


def distribution(counts, scale, threshold):
    """The exact distribution of the set of released categories."""
    sets = {frozenset(): 1.0}
    for name, count in counts.items():
        m = threshold - count
        kept = laplace_tail(scale, m) if m >= 1 else 1 - laplace_tail(scale, 1 - m)
        sets = {
            s | add: p * chance
            for s, p in sets.items()
            for add, chance in ((frozenset({name}), kept), (frozenset(), 1 - kept))
        }
    return sets


def least_delta(first, second, epsilon):
    return sum(max(0.0, p - math.exp(epsilon) * second.get(s, 0.0)) for s, p in first.items())


WORLDS = [{}, {"a": 1}, {"a": 2}, {"a": 3, "b": 1}, {"a": 1, "b": 1}, {"b": 4}]


def neighbours(steps):
    """Pairs of counts that differ by one added record, or by one record replaced."""
    for world in WORLDS:
        for value in "abc":
            larger = world | {value: world.get(value, 0) + 1}
            if steps == 1:
                yield world, larger
            for other in "abc":
                if steps == 2 and other != value:
                    yield larger, world | {other: world.get(other, 0) + 1}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_categories_keep_their_promise_exactly(steps, epsilon, delta):
    scale, _ = laplace_scale(Fraction(epsilon), steps)
    threshold = category_threshold(scale, Fraction(delta), steps)

    def worst(scale, threshold):
        found = 0.0
        for first, second in neighbours(steps):
            p = distribution(first, float(scale), threshold)
            q = distribution(second, float(scale), threshold)
            found = max(found, least_delta(p, q, epsilon), least_delta(q, p, epsilon))
        return found

    assert worst(scale, threshold) <= delta * (1 + 1e-9)
    # The control: a threshold a few noise scales lower gives rare values away.
    assert worst(scale, math.floor(threshold - 3 * float(scale) - 2)) > delta


def test_bounds_use_noise_of_the_promised_scale(monkeypatch):
    """A record changes one cell by one; the noise must be discrete Laplace of scale 1 / epsilon."""
    scales = []

    def record(scale, size, bits):
        scales.append(scale)
        return discrete_laplace(scale, size, bits)

    monkeypatch.setattr(inference, "discrete_laplace", record)
    table = [[1.0, 2.0]] * 10
    Schema.infer(table, epsilon=1, random_state=0)
    Schema.infer(table, epsilon=1, neighbors="replace_one", random_state=0)
    assert scales == [2, 2, 4, 4]

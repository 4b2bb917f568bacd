"""Paid schemas: what they find, what they cost, and that the threshold keeps its promise."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.datasets import make_census
from dpforest.exceptions import BudgetExceededError, SchemaError
from dpforest.privacy import inference
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.inference import category_threshold
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target

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
            NumericFeature("member", 0, 1, integer=True),  # a boolean, unless that is declared
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


TYPES = {
    "age": "integer",
    "balance": "number",
    "tiny": "number",
    "colour": "category",
    "member": "boolean",
    "ill": "category",
}


@pytest.mark.parametrize("types", [TYPES, "frame"])
def test_the_ledger_has_one_entry_a_column_and_the_whole_budget(columns, types):
    frame = pd.DataFrame(columns)
    schema = Schema.infer(frame, target="ill", epsilon=1, delta=1e-5, types=types, random_state=0)
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
    bounds = Schema.infer(frame[["age"]], epsilon=1, types="frame")
    assert not bounds.ledger.reproducible_noise
    assert bounds.ledger.delta == 0


def test_columns_without_a_type_pay_for_their_kind(columns):
    frame = pd.DataFrame(columns)
    types = {"age": "integer", "ill": "category"}
    schema = Schema.infer(frame, target="ill", epsilon=1, delta=1e-5, types=types, random_state=0)
    ledger = schema.ledger
    labels = [entry.label for entry in ledger.entries]
    assert labels[:2] == ["categories of 'ill'", "bounds of 'age'"]
    assert labels[2:] == [f"column {name!r}" for name in ("balance", "tiny", "colour", "member")]
    kind, rest = ledger.entries[-1].parts
    assert (kind.label, rest.label) == ("kind of 'member'", "bounds or categories of 'member'")
    # All that might have been asked is debited: the total must not tell what was found.
    assert ledger.epsilon == pytest.approx(1, rel=1e-8)
    assert ledger.delta == pytest.approx(1e-5)


def test_the_ledger_is_kept_in_files_but_is_no_part_of_equality(columns, tmp_path):
    frame = pd.DataFrame(columns)[["age"]]
    schema = Schema.infer(frame, epsilon=1, delta=1e-6, random_state=0)
    schema.save(tmp_path / "schema.json")
    loaded = Schema.load(tmp_path / "schema.json")
    assert loaded == schema == Schema(schema.features)
    assert loaded.ledger.to_dict() == schema.ledger.to_dict()


def test_declared_universes_and_declared_booleans_are_free(columns):
    frame = pd.DataFrame(columns)[["colour", "member", "ill"]]
    universe = {"colour": ["red", "violet"], "ill": ["no", "yes"]}
    types = {"member": "boolean"}
    schema = Schema.infer(frame, target="ill", epsilon=0.5, universe=universe, types=types)
    assert schema.features[0] == CategoricalFeature("colour", ("red", "violet"))
    assert schema.classes == ("no", "yes")
    assert schema.ledger.epsilon == 0
    assert schema.ledger.entries == ()


def test_target_may_be_numbers_or_come_beside(columns):
    frame = pd.DataFrame(columns)[["age"]]

    def inferred(target, **keywords):
        return Schema.infer(frame, target=target, epsilon=4, delta=1e-6, random_state=0, **keywords)

    schema = inferred(columns["balance"])
    assert schema.target.name == "target"
    assert schema.target.low < -500
    assert inferred(columns["member"] + 1).classes == (1, 2)
    assert inferred(columns["member"]).classes == (False, True)
    assert inferred(columns["member"], task="regression").target_bounds == (0, 1)
    assert inferred(columns["member"], types="frame").classes == (False, True)
    # A declared type says what classes are: whole numbers, or texts.
    whole = columns["member"] + 1
    assert inferred(whole, types={"target": "integer"}).classes == (1, 2)
    assert inferred(whole, types={"target": "category"}).classes == ("1", "2")
    assert inferred(whole, types={"target": "number"}).target_bounds == (0.5, 2)
    halves = whole / 2
    assert inferred(halves, task="classification").classes == (0.5, 1)


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


def test_too_many_categories_keep_the_most_frequent(monkeypatch):
    monkeypatch.setattr(inference, "MAX_CATEGORIES", 255)
    values = np.repeat(np.arange(300), np.arange(100, 400)).astype(str)
    frame, types = pd.DataFrame({"a": values}), {"a": "category"}
    schema = Schema.infer(frame, epsilon=20, delta=1e-6, types=types, random_state=0)
    kept = schema.features[0].categories
    assert len(kept) == 255
    assert "299" in kept
    assert "0" not in kept


@pytest.mark.parametrize("types", [{}, {"x": "number"}, {"x": "integer"}, {"x": "category"}])
@pytest.mark.parametrize("nothing", [None, math.nan, ""])
def test_a_column_of_nothing_is_left_out(types, nothing):
    # Over 20 seeds: an empty column stands out with a probability of at most 0.01 a question.
    frame = pd.DataFrame({"x": [nothing] * 900, "age": np.arange(900) % 60 + 20})
    if nothing == "" and types != {"x": "number"}:
        frame["x"] = None  # a text of no letters is a category of its own
    left_out = 0
    for seed in range(20):
        schema = Schema.infer(frame, epsilon=2, delta=1e-6, types=types, random_state=seed)
        left_out += schema.feature_names == ("age",)
        if schema.feature_names == ("age",):
            assert any(note.startswith("'x' was left out: no") for note in schema.ledger.notes)
    assert left_out >= 19


@pytest.mark.parametrize("task", ["auto", "classification", "regression"])
def test_a_target_of_nothing_says_what_is_spent(task):
    frame = pd.DataFrame({"age": np.arange(900) % 60 + 20, "y": [None] * 900})
    with pytest.raises(SchemaError, match=r"target 'y': no .* stands out.*epsilon = 1 is spent"):
        Schema.infer(frame, target="y", epsilon=2, delta=1e-6, task=task, random_state=0)


def test_with_too_few_records_nothing_is_described():
    with pytest.raises(SchemaError, match=r"epsilon = 0\.01 is spent"):
        Schema.infer([[1.0], [2.0]], epsilon=0.01, types={"x0": "number"}, random_state=0)


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
        ({"epsilon": 1, "delta": 1e-6, "task": "x"}, ValueError, ["task", "'regression'"]),
        ({"epsilon": 1, "types": {"age": "integer"}}, ValueError, ["'tiny', 'colour'", "types"]),
        ({"epsilon": 1, "types": "frame"}, ValueError, ["delta", "categories of 'colour', 'ill'"]),
        ({"epsilon": 1, "delta": 1e-6, "types": {"x": "number"}}, ValueError, ["types", "'x'"]),
        ({"epsilon": 1, "delta": 1e-6, "types": {"age": "int"}}, ValueError, ["'integer'"]),
        ({"epsilon": 1, "delta": 1e-6, "types": ["integer"]}, ValueError, ["types", "list"]),
        ({"epsilon": 1, "delta": 1e-6, "universe": {"age": "ab"}}, ValueError, ["'age'", "list"]),
        ({"epsilon": 1, "delta": 1e-6, "universe": {"age": [1, "1"]}}, SchemaError, ["differ"]),
        ({"epsilon": 1, "delta": 1e-6, "groups": np.arange(N)}, ValueError, ["go together"]),
        ({"epsilon": 1, "delta": 1e-6, "max_records_per_group": 2}, ValueError, ["go together"]),
        (
            {"epsilon": 1, "delta": 1e-6, "groups": [1, 2], "max_records_per_group": 2},
            SchemaError,
            ["groups", "one entry a row"],
        ),
        ({"epsilon": 1, "delta": 1e-6, "target": [1, 2]}, SchemaError, ["target", "lengths"]),
    ],
)
def test_bad_questions_are_refused_before_anything_is_spent(
    columns, monkeypatch, keywords, error, words
):
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))
    with pytest.raises(error) as caught:
        Schema.infer(pd.DataFrame(columns), **keywords)
    for word in words:
        assert word in str(caught.value)


def test_a_target_of_one_class_says_what_is_spent():
    with pytest.raises(SchemaError, match=r"epsilon = 0\.5 is spent"):
        Schema.infer([[1.0]] * 900, target=["a"] * 900, epsilon=1, delta=1e-6, random_state=0)


@pytest.mark.parametrize("types", [None, "frame"])
@pytest.mark.parametrize("name", ["age", "colour"])
def test_debit_comes_before_reading(columns, monkeypatch, types, name):
    def refuse(self, entry):
        raise BudgetExceededError("no")

    def read(column, **_):
        raise AssertionError("read before it was paid for")

    monkeypatch.setattr(Ledger, "debit", refuse)
    for counts in ("kind_counts", "magnitude_counts", "level_counts"):
        monkeypatch.setattr(inference, counts, read)
    with pytest.raises(BudgetExceededError):
        Schema.infer(pd.DataFrame(columns)[[name]], epsilon=1, delta=1e-6, types=types)


def test_a_failure_in_the_middle_says_what_is_spent(columns, monkeypatch):
    def fail(column):
        raise MemoryError

    monkeypatch.setattr(inference, "magnitude_counts", fail)
    with pytest.raises(MemoryError) as caught:
        Schema.infer(pd.DataFrame(columns)[["colour", "age"]], epsilon=1, delta=1e-6)
    assert caught.value.__notes__ == [
        "the schema is not finished: epsilon = 1 is spent, and delta = 1e-06"
    ]


def test_dates_are_refused_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))
    frame = pd.DataFrame({"age": [30] * 9, "born": pd.to_datetime(["2020-01-01"] * 9)})
    with pytest.raises(SchemaError, match="'born': dates"):
        Schema.infer(frame, epsilon=1, delta=1e-6)


STEPS = {
    ("add_remove", None): 1,
    ("replace_one", None): 2,
    ("add_remove", 2): 2,
    ("replace_one", 2): 4,
}
"""Single records between neighbours: one record, or a person of at most two."""


def without_noise(monkeypatch):
    """Let the samplers return zeros; returns the list of the scales they are asked for."""
    scales = []

    def silent(_, noise, totals):
        scales.append(noise.parameter)
        return totals

    monkeypatch.setattr(Draws, "add_noise", silent)
    return scales


def by_person(kind, most, n_rows):
    """Keywords of a protection, each record a person of its own."""
    persons = {} if most is None else {"groups": np.arange(n_rows), "max_records_per_group": most}
    return {"neighbors": kind} | persons


@pytest.mark.parametrize(("kind", "most"), STEPS)
def test_noise_has_the_promised_scale(monkeypatch, kind, most):
    """A record changes one cell by one, so the scale is the number of records over epsilon."""
    scales = without_noise(monkeypatch)
    table = pd.DataFrame({"a": [1.0] * 900, "b": [2.5] * 900, "c": ["x", "y", "z"] * 300})
    keywords = {"epsilon": 1, "delta": 1e-6} | by_person(kind, most, 900)
    steps = STEPS[kind, most]
    Schema.infer(table, types="frame", **keywords)
    assert scales == [3 * steps] * 3
    scales.clear()
    Schema.infer(table, **keywords)
    assert scales == [12 * steps, 4 * steps] * 3
    scales.clear()
    # The target gets its own share: half when two are asked, a fifth when there are many.
    Schema.infer(table[["a", "c"]], target="c", types={"a": "number"}, **keywords)
    assert scales == [8 * steps, Fraction(8, 3) * steps, 2 * steps]


@pytest.mark.parametrize(("kind", "most"), STEPS)
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_categories_have_the_promised_threshold(monkeypatch, kind, most, delta):
    """Without noise, the rarest category that is named shows the threshold."""
    without_noise(monkeypatch)
    values = np.repeat([f"{count:03}!" for count in range(1, 200)], range(1, 200))
    schema = Schema.infer(
        pd.DataFrame({"a": values}),
        epsilon=1,
        delta=delta,
        types={"a": "category"},
        **by_person(kind, most, len(values)),
    )
    threshold = min(int(category[:3]) for category in schema.features[0].categories)
    steps = STEPS[kind, most]
    assert threshold == category_threshold(Fraction(steps), Fraction(delta), steps)


def test_of_a_person_only_so_many_records_count(monkeypatch):
    without_noise(monkeypatch)
    person = np.r_[np.zeros(500, int), np.arange(1, 501)]
    table = pd.DataFrame({"c": np.where(person == 0, "mine", "all"), "n": person * 0 + 3})
    keywords = {"epsilon": 8, "delta": 1e-6, "types": {"c": "category", "n": "integer"}}
    schema = Schema.infer(table, groups=person, max_records_per_group=3, **keywords)
    assert schema.features[0].categories == ("all",)
    assert schema.ledger.guarantee.protection.describe() == (
        "adding or removing one person (at most 3 records each)"
    )
    assert Schema.infer(table, **keywords).features[0].categories == ("all", "mine")


def text_table():
    """A table as a CSV reader leaves it: texts, and None where a cell is empty."""
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 91, N).astype(str),
            "height": np.round(rng.normal(170, 9, N), 1).astype(str),
            "smoker": rng.choice(["True", "False"], N),
            "city": rng.choice(["Bern", "Ulm"], N),
            "ill": rng.choice(["0", "1"], N),
        },
        dtype=object,
    )


PERSON = {"age": "40", "height": "171.5", "smoker": "True", "city": "Bern", "ill": "1"}
ODD_RECORDS = {
    "empty age": {"age": None},
    "unknown age": {"age": "unknown"},
    "half an age": {"age": "40.5"},
    "age of a thousand digits": {"age": "9" * 1000},
    "empty label": {"ill": None},
    "text label": {"ill": "perhaps"},
    "fraction as label": {"ill": "0.5"},
    "number as city": {"city": "7"},
    "number as smoker": {"smoker": "2"},
    "a list": {"age": [1], "city": [2]},
    "numbers in place of texts": {"age": 40, "height": 171.5, "smoker": True, "ill": 1},
}


def facts(schema):
    """What the types of a table say: kinds, integer flags, categories and classes."""
    return [
        (f.name, f.integer) if isinstance(f, NumericFeature) else (f.name, f.categories)
        for f in schema.features
    ], schema.target


@pytest.mark.parametrize("odd", ODD_RECORDS)
def test_one_odd_record_changes_no_type(odd):
    # Each type has noise of 20 records between it and another one.
    table = text_table()
    larger = pd.concat([table, pd.DataFrame([PERSON | ODD_RECORDS[odd]])], ignore_index=True)
    expected = (
        [("age", True), ("height", False), ("smoker", True), ("city", ("Bern", "Ulm"))],
        Target("ill", classes=(0, 1)),
    )
    for frame in (table, larger):
        schema = Schema.infer(frame, target="ill", epsilon=4, delta=1e-6, random_state=3)
        assert facts(schema) == expected


def recorded_counts(monkeypatch):
    """Keep the exact counts of every question, in order, as they are read."""
    read = []

    def recorder(question):
        ask = getattr(inference, question)

        def asked(column, **keywords):
            found = ask(column, **keywords)
            levels, counts = found if question == "level_counts" else (range(found.size), found)
            read.append((question, column.label, dict(zip(levels, counts.tolist(), strict=True))))
            return found

        return asked

    for question in ("kind_counts", "magnitude_counts", "level_counts"):
        monkeypatch.setattr(inference, question, recorder(question))
    return read


@pytest.mark.parametrize("odd", ODD_RECORDS)
def test_one_record_changes_each_count_by_one(monkeypatch, odd):
    """Replay without noise: the same questions, and one record in one cell of each."""
    without_noise(monkeypatch)
    read = recorded_counts(monkeypatch)
    table = text_table()
    larger = pd.concat([table, pd.DataFrame([PERSON | ODD_RECORDS[odd]])], ignore_index=True)
    runs = []
    for frame in (table, larger):
        schema = Schema.infer(frame, target="ill", epsilon=4, delta=1e-6)
        runs.append((list(read), schema.ledger.entries))
        read.clear()
    (first, ledger), (second, other) = runs
    assert ledger == other
    assert [entry[:2] for entry in first] == [entry[:2] for entry in second]
    assert len(first) == 10  # five kinds, and one count more of each
    for (_, _, before), (_, _, after) in zip(first, second, strict=True):
        changes = [after.get(cell, 0) - before.get(cell, 0) for cell in before | after]
        assert sorted(filter(None, changes)) in ([], [1])


@pytest.mark.parametrize("odd", [None, 2, 0.5, "x", 2**60 + 1, [1]], ids=repr)
@pytest.mark.parametrize("values", [[True, False], [1, 2], ["a", "b"], [2**53 + 1, 5]], ids=repr)
def test_one_record_of_a_list_changes_each_count_by_one(monkeypatch, values, odd):
    """NumPy would make numbers of booleans and doubles of integers once the odd one is there."""
    without_noise(monkeypatch)
    read = recorded_counts(monkeypatch)
    runs = []
    for more in ([], [odd]):
        rows = [[value, 1.5] for value in values * 300 + more]
        Schema.infer(rows, target=values * 300 + more, epsilon=4, delta=1e-6)
        runs.append([counts for *_, counts in read])
        read.clear()
    for before, after in zip(*runs, strict=True):
        changes = [after.get(cell, 0) - before.get(cell, 0) for cell in before | after]
        assert sorted(filter(None, changes)) in ([], [1])


def test_stray_texts_do_not_turn_numbers_into_categories():
    table = text_table()
    table.loc[:200, "age"] = "unknown"
    table.loc[:200, "city"] = "17"
    schema = Schema.infer(table, target="ill", epsilon=4, delta=1e-6, random_state=0)
    assert schema.features[0] == NumericFeature("age", 16, 128, integer=True)
    assert schema.features[3] == CategoricalFeature("city", ("17", "Bern", "Ulm"))


@pytest.mark.parametrize("seed", range(3))
def test_the_census_is_described_well(seed):
    census = make_census(20_000, random_state=seed)
    schema = Schema.infer(census.X, target=census.y, epsilon=1, delta=1e-6, random_state=seed)
    assert schema.feature_names == census.schema.feature_names
    assert schema.classes == census.schema.classes
    for found, declared in zip(schema.features, census.schema.features, strict=True):
        if isinstance(declared, CategoricalFeature):
            assert set(found.categories) == set(declared.categories)
        else:
            # Amounts are rounded to whole ones, whatever their declaration says.
            assert found.integer == (declared.name != "commute_minutes")
            assert -1 <= found.low <= declared.high
            assert found.high <= 2 * declared.high


@pytest.mark.parametrize("types", [None, "frame"])
def test_of_five_hundred_columns_the_target_is_still_found(types):
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 500))
    y = rng.choice(["no", "perhaps", "yes"], 20_000, p=[0.6, 0.1, 0.3])
    schema = Schema.infer(X, target=y, epsilon=1, delta=1e-6, types=types, random_state=0)
    assert schema.classes == ("no", "perhaps", "yes")
    target = schema.ledger.entries[0]
    assert float(target.cost().epsilon) == pytest.approx(0.2)
    assert schema.ledger.epsilon == pytest.approx(1)


class Given(Draws):
    """Adds given numbers in the place of noise, and keeps a log of looks and draws."""

    def __init__(self, *numbers):
        super().__init__(0)
        self.numbers, self.log = list(numbers), []

    def looked(self):
        self.log.append("looked")

    def add_noise(self, noise, totals):
        self.log.append("drawn")
        return totals + self.numbers.pop(0)


def inferred(table, draws, **keywords):
    settings = {
        "epsilon": 1, "delta": 1e-6, "types": {}, "universe": {}, "task": "auto",
        "neighbors": "add_remove", "groups": None, "max_records_per_group": None,
        "random_state": None, "draws": draws,
    } | keywords  # fmt: skip
    return inference.infer_schema(table, None, **settings)[0]


def test_categories_are_named_by_their_noisy_counts():
    """Noise of -500 hides a frequent one, noise of 500 names a rare one."""
    table = pd.DataFrame({"a": ["frequent"] * 400 + ["rare"]})
    draws = Given(np.array([-500, 500]))
    (feature,) = inferred(table, draws, types={"a": "category"})
    assert feature.categories == ("rare",)
    assert draws.log == ["looked", "drawn"]


def test_of_too_many_categories_those_of_the_largest_noisy_counts_are_kept(monkeypatch):
    monkeypatch.setattr(inference, "MAX_CATEGORIES", 2)
    table = pd.DataFrame({"a": ["u"] * 900 + ["v"] * 800 + ["w"] * 700})
    (feature,) = inferred(table, Given(np.array([-500, 0, 0])), types={"a": "category"})
    assert feature.categories == ("v", "w")


def test_bounds_and_kinds_follow_from_noisy_counts():
    table = pd.DataFrame({"a": [3] * 400})
    cells = np.zeros(257, np.int64)
    cells[128 + 66] = -400  # where 3 is
    cells[128 + 70] = 400
    draws = Given(np.array([0, -400, 0, 400]), 0)
    (feature,) = inferred(table, draws)  # a text, the noise says
    assert feature == CategoricalFeature("a", ("3",))
    (feature,) = inferred(table, Given(cells), types={"a": "integer"})
    assert (feature.low, feature.high) == (32, 64)


def test_draws_are_told_of_every_look_at_the_records():
    draws = Given(0, 0, 0, 0)
    inferred(pd.DataFrame({"a": [3] * 400, "b": ["x"] * 400}), draws)
    assert draws.log == ["looked", "drawn"] * 4

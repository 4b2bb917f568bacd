"""The way in: all is checked before anything is spent, and the ledger is the right one."""

import numpy as np
import pytest

from dpforest.exceptions import PrivacyLeakWarning, SchemaError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Pure, Spend
from dpforest.privacy.counts import bin_counts, count, target_counts
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.opening import open_desk
from dpforest.records.statistics import RecordCount, TargetCounts
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame

FEATURES = (NumericFeature("a", 0, 1), CategoricalFeature("c", ("x", "y")))
CLASSES = Schema(FEATURES, Target(classes=("no", "yes")))
NUMBERS = Schema(FEATURES, Target(low=0.0, high=10.0))
ROWS = [[0.1, "x"], [0.5, "y"], [0.9, "x"], [None, "z"]]
LABELS = ["no", "yes", "yes", "no"]


def opened(rows=ROWS, y=LABELS, schema=CLASSES, **settings):
    settings = {"budget": (1.0, 1e-6), "protection": Protection(), "draws": Draws(0)} | settings
    return open_desk(Frame(rows), y, schema, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"y": [*LABELS, "no"]}, "different lengths"),
        ({"y": LABELS[:3]}, "different lengths"),
        ({"y": [1.0, 2.0, 3.0], "schema": NUMBERS}, "different lengths"),
        ({"y": ["no", "yes", "qqq", "no"]}, "not among the declared classes"),
        ({"y": ["no", "yes", None, "no"]}, "missing labels"),
        ({"y": [1.0, None, 3.0, 4.0], "schema": NUMBERS}, "missing values"),
        ({"y": [1.0, "qqq", 3.0, 4.0], "schema": NUMBERS}, "no numbers"),
        ({"rows": [[0.1], [0.5], [0.9], [0.2]]}, "features"),
        ({"rows": [["qqq", "x"]] * 4}, "no numbers"),
        ({"groups": [1, 2]}, "one entry a row"),
        ({"groups": [1, 2, None, 3]}, "missing entries"),
        ({"groups": [1, 2, 7.125, 3]}, "no exact ids"),
    ],
)
def test_what_will_not_do_is_refused_before_there_is_a_desk(settings, words, monkeypatch):
    monkeypatch.setattr(Ledger, "debit", lambda *_: pytest.fail("spent"))
    with pytest.raises(SchemaError, match=words) as caught:
        opened(**settings)
    assert "qqq" not in str(caught.value)
    assert "7.125" not in str(caught.value)


def test_columns_of_a_type_that_will_not_do_are_refused_too(monkeypatch):
    monkeypatch.setattr(Ledger, "debit", lambda *_: pytest.fail("spent"))
    with pytest.raises(TypeError, match="'c': argument must be a string or a number"):
        opened([[0.1, {}]] * 4)


def test_nothing_is_spent_and_all_records_are_there():
    desk = opened()
    assert desk.ledger.entries == ()
    assert desk.ledger.epsilon == 0
    assert (desk.ledger.budget_epsilon, float(desk.ledger.budget_delta)) == (1, 1e-6)
    assert desk.total(RecordCount()).tolist() == [4]
    assert desk.total(TargetCounts(0, 1, 2)).tolist() == [2, 2]


def test_targets_are_clipped_to_the_declared_bounds():
    desk = opened(y=[-1e9, 3, 7, 1e300], schema=NUMBERS)
    assert desk.total(TargetCounts(0, 10, 2)).tolist() == [2, 2]
    block = desk._store._shard.block
    assert (block.target.min(), block.target.max()) == (0, 10)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_each_person_no_more_records_count_than_the_ledger_protects(most):
    rows, y = [[0.1, "x"]] * 9, ["no"] * 5 + ["yes"] * 4
    groups = ["anna"] * 5 + ["ben"] * 3 + ["eve"]
    protection = Protection(unit="group", max_records_per_group=most)
    desk = opened(rows, y, protection=protection, groups=groups)
    assert desk.ledger.protection == protection
    kept = min(5, most) + min(3, most) + 1
    assert desk.total(RecordCount()).tolist() == [kept]
    assert desk.total(TargetCounts(0, 1, 2)).tolist() == [min(5, most), min(3, most) + 1]


def test_which_records_of_a_person_count_is_drawn():
    """One of four records each, over 400 seeds: all come, none more than 5 errors too often."""
    rows, y = [[0.1, "x"]] * 4, ["no", "yes", "no", "yes"]
    protection = Protection(unit="group", max_records_per_group=1)
    kept = np.zeros(4)
    for seed in range(400):
        desk = opened(rows, y, protection=protection, groups=[7] * 4, draws=Draws(seed))
        kept[desk._store._shard.addresses] += 1
    assert kept.sum() == 400
    assert np.abs(kept - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)


def paid(protection=None):
    ledger = Ledger(0.5, 0.0, protection or Protection(), kind="schema")
    ledger.debit(Spend.of("bounds", "discrete Laplace", DiscreteLaplace(2, 1)))
    return Schema(FEATURES, CLASSES.target, ledger)


def test_the_stage_of_a_paid_schema_is_in_the_ledger():
    desk = opened(schema=paid())
    count(desk, Pure(1))
    assert [stage.kind for stage in desk.ledger.stages] == ["schema", "fit"]
    assert desk.ledger.epsilon == 1.5
    assert desk.ledger.guarantee.epsilon == 1.5


def test_a_schema_paid_for_others_leaves_no_guarantee():
    assert opened(schema=paid(Protection("replace_one"))).ledger.guarantee is None


def test_a_schema_that_leaked_leaves_no_guarantee():
    with pytest.warns(PrivacyLeakWarning):
        schema = Schema.from_frame([[0.1, "x"], [0.5, "y"]], ["no", "yes"])
    desk = opened(schema=schema)
    count(desk, Pure(1))
    assert desk.ledger.guarantee is None
    assert not desk.ledger.releasable
    assert "not paid for" in desk.ledger.reasons[0]


def test_what_was_spent_before_stays_in_the_ledger():
    first = opened()
    count(first, Pure(1))
    second = opened(before=first.ledger)
    target_counts(second, 0, 2, 2, Pure(1))
    assert [stage.kind for stage in second.ledger.stages] == ["fit", "continued fit"]
    assert second.ledger.epsilon == 2
    with pytest.raises(ValueError, match="the same neighbors"):
        opened(before=first.ledger, protection=Protection("replace_one"))


@pytest.mark.parametrize("seed", [None, 0])
def test_a_seed_makes_the_release_none_to_give_away(seed):
    desk = opened(draws=Draws(seed))
    count(desk, Pure(1))
    assert desk.ledger.reproducible_noise == (seed is not None)
    assert desk.ledger.releasable == (seed is None)
    assert desk.ledger.guarantee.releasable == (seed is None)


def test_columns_are_those_of_the_schema_in_its_order():
    """A table with the columns the other way round, by name."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"c": ["x", "y", "x", "z"], "a": [0.1, 0.1, 0.9, None]})
    desk = opened(frame)
    encoding = Encoding.from_schema(CLASSES, max_bins=2)
    counts = bin_counts(desk, encoding, (0, 1), Pure(1), "bins")
    desk.encode(encoding)
    desk.total(RecordCount())
    block = desk._store._shard.block
    assert block.bins.tolist() == [[0, 0], [0, 1], [1, 0], [2, 3]]
    assert counts.values.shape == (2, 4)

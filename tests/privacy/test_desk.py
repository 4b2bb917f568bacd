"""The desk: whatever verb asks, the debit comes first; and who sees which records."""

import inspect
import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from dpforest.exceptions import BudgetExceededError
from dpforest.losses import IntegerLoss, Logistic
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.confidence import confidence_sums
from dpforest.privacy.counts import (
    bin_counts,
    class_counts,
    count,
    noisy_counts,
    table_counts,
    target_counts,
    total_weight,
)
from dpforest.privacy.desk import Desk
from dpforest.privacy.errors import error_sums
from dpforest.privacy.gradients import gradient_sums, gradients_by_score, linear_sums
from dpforest.privacy.greedy_splits import Rule, choose_attributes, node_counts
from dpforest.privacy.leaves import LeafQuestion, leaf_counts, leaf_labels, leaf_target_sums
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.strategies import Identity
from dpforest.privacy.median_splits import choose_median_splits, middle_of_target
from dpforest.privacy.number_choice import choose_median, choose_quantile
from dpforest.privacy.populations import Cells, OwnLeaves
from dpforest.privacy.rule_choice import (
    Allowed,
    choose_rule,
    count_errors_beyond,
    count_errors_saved,
    count_right,
)
from dpforest.privacy.rule_choice import Rule as ChosenRule
from dpforest.privacy.workloads import Question, answer_workloads, class_totals
from dpforest.records.local import LocalStore
from dpforest.records.statistics import LeafClassCounts, RecordCount
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.trees.attribute_grower import AttributeGrower
from dpforest.trees.growers import grow_binary
from dpforest.trees.level_grower import BINS, LevelGrower
from dpforest.trees.linear import LinearDesign
from dpforest.trees.oblivious_grower import ObliviousGrower
from dpforest.trees.scales import Scales
from dpforest.trees.workloads import Paths, Rows

SCHEMA = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)))
ENCODING = Encoding.from_schema(SCHEMA, max_bins=4)
FEATURES = ENCODING.feature_bins
FOREST = grow_binary(FEATURES, 3, 2, np.random.default_rng(0))
TENTH = Fraction(1, 10)
SPAN = Span(Fraction(0), TENTH)
DISJOINT, SHARED = TreeSampling("disjoint", 3), TreeSampling("shared", 3)
SAMPLES = TreeSampling("without_replacement", 3, Fraction(1, 2))
LOSSES = {
    "pure": IntegerLoss(Logistic(), 1, 1024, 0.5, 0.2),
    "gaussian": IntegerLoss(Logistic(), 2, 1024, 0.5, 0.37),
}
PRICES = {"pure": Pure(TENTH), "gaussian": Gaussian(0.05)}


DESIGN = LinearDesign.of_bins(ENCODING.feature_bins, (None, None), ENCODING.middles, 0.0)
LINEAR = IntegerLoss(Logistic(), 2, 1024, 0.5, 0.0)


def draw_trees():
    rng = np.random.default_rng(0)
    grower = ObliviousGrower(FEATURES, (np.ones(3), np.ones(3)), rng, learnt=0.0, focus=1.0)
    return grower.draw(5, 2)


def splits():
    shape = {"n_trees": 3, "n_candidates": 2, "categories": "subset"}
    lengths = np.ones((2, BINS), np.int64)
    return LevelGrower(FEATURES, lengths, **shape, rng=np.random.default_rng(0)).ask()


def attributes():
    shape = {"n_trees": 3, "n_candidates": 2, "max_leaf_nodes": 64}
    return AttributeGrower(FEATURES, **shape, rng=np.random.default_rng(0)).ask()


def leaves(sampling):
    return LeafQuestion.alike(FOREST, 2, TENTH, sampling)


def ask(desk, kind, population):
    domain = (5,) if isinstance(population, Cells) else (FOREST.n_leaves,)
    whole = (
        Paths(domain, np.full((1, 1), -1))
        if domain == (5,)
        else Rows(sparse.csr_array(np.ones((1, *domain))))
    )
    return answer_workloads(
        desk, [Question("w", whole, Identity(domain), population)], 2, PRICES[kind]
    )


SCALES = Scales.drawn(ENCODING.feature_bins, (None, None), 2, np.random.default_rng(0))
RULE = Rule.of("max", 100, "permute_and_flip", None)
VERBS = {
    "count": lambda desk, kind: count(desk, PRICES[kind]),
    "bin_counts": lambda desk, kind: bin_counts(desk, ENCODING, (0, 1), PRICES[kind], "bins"),
    "table_counts": lambda desk, kind: table_counts(desk, ENCODING, (0, 1), PRICES[kind], "table"),
    "noisy_counts": lambda desk, kind: noisy_counts(
        desk, RecordCount(), PRICES[kind], "records", cells=1
    ),
    "error_sums": lambda desk, kind: error_sums(desk, (0.0, 1.0), 0.5, PRICES[kind]),
    "target_counts": lambda desk, kind: target_counts(desk, 0.0, 1.0, 4, PRICES[kind]),
    "middle_of_target": lambda desk, kind: middle_of_target(desk, (0.0, 1.0), TENTH),
    "gradient_sums": lambda desk, kind: gradient_sums(
        desk, draw_trees(), LOSSES[kind], PRICES[kind], "trees"
    ),
    "gradients_by_score": lambda desk, kind: gradients_by_score(
        desk, (0.0,), LOSSES[kind], PRICES[kind], "by score"
    ),
    "confidence_sums": lambda desk, kind: confidence_sums(desk, PRICES["gaussian"]),
    "linear_sums": lambda desk, kind: linear_sums(
        desk, DESIGN, LINEAR, PRICES["gaussian"], "linear start"
    ),
    "choose_rule": lambda desk, kind: choose_rule(desk, SCALES, 2, PRICES[kind]),
    "count_right": lambda desk, kind: count_right(
        desk, SCALES, 2, ChosenRule(1, 0, 0, 1), PRICES[kind]
    ),
    "count_errors_beyond": lambda desk, kind: count_errors_beyond(
        desk, SCALES, 2, Allowed(4.0, 9.0), PRICES[kind]
    ),
    "count_errors_saved": lambda desk, kind: count_errors_saved(desk, SCALES, 2, 4.0, PRICES[kind]),
    "choose_median": lambda desk, kind: choose_median(desk, 0.0, 1.0, PRICES[kind]),
    "choose_quantile": lambda desk, kind: choose_quantile(desk, 0.0, 1.0, 0.9, PRICES[kind]),
    "class_counts": lambda desk, kind: class_counts(desk, 2, PRICES[kind]),
    "total_weight": lambda desk, kind: total_weight(desk, PRICES[kind]),
    "leaf_counts": lambda desk, kind: leaf_counts(desk, leaves(DISJOINT)),
    "leaf_counts of samples": lambda desk, kind: leaf_counts(desk, leaves(SAMPLES)),
    "leaf_labels": lambda desk, kind: leaf_labels(desk, leaves(SHARED)),
    "leaf_labels of samples": lambda desk, kind: leaf_labels(desk, leaves(SAMPLES)),
    "leaf_target_sums": lambda desk, kind: leaf_target_sums(
        desk, FOREST, (0.0, 1.0), TENTH, DISJOINT
    ),
    "choose_median_splits": lambda desk, kind: choose_median_splits(
        desk, splits(), 2, "attribute", SPAN, DISJOINT
    ),
    "choose_attributes": lambda desk, kind: choose_attributes(
        desk, attributes(), 2, RULE, SPAN, SAMPLES
    ),
    "node_counts": lambda desk, kind: node_counts(desk, attributes(), 2, SPAN, DISJOINT),
    "answer_workloads": lambda desk, kind: ask(desk, kind, Cells((0,), (5, 5))),
    "answer_workloads of leaves": lambda desk, kind: ask(desk, kind, OwnLeaves(FOREST, False)),
    "answer_workloads, class totals": lambda desk, kind: answer_workloads(
        desk, [class_totals((5, 5), PRICES[kind])], 2, Pure(1)
    ),
}
NO_VERBS = {  # they release nothing, or are asked by verbs that paid
    "answer_by_node", "choose_strategies", "pay_for_choices", "pay_for_counts", "pay_for_noise",
    "noise_within",
}  # fmt: skip
ROOMS = ("counts", "errors", "gradients", "leaves", "median_splits", "greedy_splits", "workloads",
         "tree_payments", "rule_choice", "number_choice", "confidence")  # fmt: skip


def test_no_verb_is_left_out():
    verbs = set()
    for room in ROOMS:
        module = import_module(f"dpforest.privacy.{room}")
        for name, value in inspect.getmembers(module, inspect.isfunction):
            takes = [*inspect.signature(value).parameters][:1]
            if value.__module__ == module.__name__ and takes == ["desk"] and name[0] != "_":
                verbs.add(name)
    tested = {verb.partition(" ")[0].rstrip(",") for verb in VERBS}
    assert verbs == tested | NO_VERBS


class Untouchable:
    """A store that must not be asked anything at all."""

    def __getattr__(self, name):
        raise AssertionError(f"the store was touched: {name}")


class Witness:
    """A store that looks at the ledger whenever it is asked something, and breaks down at last."""

    def __init__(self):
        self.ledger, self.spent = None, []

    def look(self, *_, **__):
        self.spent.append(self.ledger.epsilon)

    encode = deal = sample = look

    def total(self, _):
        self.look()
        raise RuntimeError("the store broke down")


def make_desk(store, *, epsilon=5.0, delta=1e-6):
    return Desk(store, Ledger(epsilon, delta, Protection()), Draws(0))


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("verb", VERBS)
def test_the_ledger_is_debited_before_the_records_are_touched(verb, kind):
    witness = Witness()
    desk = make_desk(witness)
    witness.ledger = desk.ledger
    with pytest.raises(RuntimeError, match="broke down"):
        VERBS[verb](desk, kind)
    assert witness.spent[0] > 0
    # What was debited stays debited: how the store failed may have told something.
    assert set(witness.spent) == {desk.ledger.epsilon}


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_touched_when_the_budget_is_exceeded(verb, kind):
    desk = make_desk(Untouchable(), epsilon=0.001)
    with pytest.raises(BudgetExceededError, match="Nothing was read or released"):
        VERBS[verb](desk, kind)
    assert desk.ledger.entries == ()


@pytest.mark.parametrize("verb", VERBS)
def test_control_the_untouchable_store_does_catch_reading(verb):
    with pytest.raises(AssertionError, match="the store was touched"):
        VERBS[verb](make_desk(Untouchable()), "gaussian")


@pytest.mark.parametrize("verb", VERBS)
def test_draws_are_told_of_every_look_at_the_records(verb, recorded_desk):
    """The auditor enumerates by it: a draw before a look must not be taken for the last release."""
    target = "pairs" if verb == "error_sums" else "numbers" if "target" in verb else "classes"
    weight = np.ones(60) if verb == "total_weight" else None
    desk = recorded_desk(target=target, weight=weight)
    desk.encode(ENCODING, by_feature=verb == "gradient_sums")
    desk.log.clear()
    VERBS[verb](desk, "pure")
    assert desk.log.index("drawn") > desk.log.index("looked")
    # Every total is announced: the desk has no other way to the store.
    announced = [
        before for before, event in zip(desk.log, desk.log[1:], strict=False) if event == "total"
    ]
    assert announced == ["looked"] * desk.log.count("looked")


def test_scores_and_bins_cost_nothing(recorded_desk):
    desk = recorded_desk()
    desk.encode(ENCODING, by_feature=True)
    desk.start_scores(1)
    desk.add_to_scores(draw_trees(), np.zeros((5, 1, 4), np.float32))
    desk.deal_anew(3)
    assert desk.ledger.entries == ()


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("most", [None, 3])
def test_only_the_number_of_replaced_records_is_public(recorded_desk, neighbors, most):
    unit = ("record", 1) if most is None else ("group", most)
    desk = recorded_desk(Protection(neighbors, *unit))
    assert desk.count_is_public == (neighbors == "replace_one" and most is None)
    assert desk.steps == (most or 1) * (2 if neighbors == "replace_one" else 1)


def test_a_reopened_desk_has_the_records_and_another_ledger(recorded_desk):
    desk = recorded_desk()
    count(desk, Pure(1))
    other = desk.reopened(Ledger(1.0, 0.0, Protection()), Draws(0))
    assert other.ledger.epsilon == 0
    assert other.total(RecordCount()).tolist() == [60]
    assert count(other, Pure(1)) > 0
    assert (desk.ledger.epsilon, other.ledger.epsilon) == (1, 1)


# Who sees which records


class Asked(Draws):
    """Counts the keys that are drawn."""

    def __init__(self):
        super().__init__(0)
        self.keys = 0

    def coins(self):
        self.keys += 1
        return super().coins()


def coin_desk(n=4_000):
    X = np.random.default_rng(1).random((n, 2))
    y = (X[:, 0] > 0.5).astype(np.int32)
    store = LocalStore(Frame(X), y, n_jobs=1)
    store.encode(ENCODING)
    return Desk(store, Ledger(1.0, 0.0, Protection()), Asked())


def test_records_are_dealt_once_a_sampling_and_anew_for_another():
    desk, keys = coin_desk(), []
    for sampling in (DISJOINT, DISJOINT, SHARED, SAMPLES, SAMPLES, DISJOINT):
        desk.draw_samples(sampling)
        keys.append(desk.draws.keys)
    assert keys == [1, 1, 1, 2, 2, 3]
    assert desk._store._state.dealing.n_parts == DISJOINT.n_trees
    # A question in between that deals for itself leaves nothing for the trees before.
    desk.deal_anew(5)
    assert desk._store._state.dealing.n_parts == 5
    desk.draw_samples(DISJOINT)
    assert (desk.draws.keys, desk._store._state.dealing.n_parts) == (5, DISJOINT.n_trees)


def test_the_share_that_is_drawn_is_the_share_that_is_priced():
    """Within 5 standard errors of p for each of three trees, at a fixed seed."""
    for share in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
        desk = coin_desk()
        desk.draw_samples(TreeSampling("without_replacement", 3, share))
        counts = desk.total(LeafClassCounts(FOREST, 2, "without_replacement"))
        seen = np.add.reduceat(counts.sum(axis=1), FOREST.leaf_offsets[:-1])
        p = float(share)
        assert np.abs(seen - 4_000 * p).max() <= 5 * math.sqrt(4_000 * p * (1 - p))


def test_harder_samples_halve_the_chance_of_what_is_classified_well_and_raise_none():
    """Votes that are right for the second class only; 5 standard errors at a fixed seed."""
    share = Fraction(2, 5)
    sampling = TreeSampling("without_replacement", 3, share)
    votes = np.tile([0.0, 1.0], (FOREST.n_leaves, 1))
    desk = coin_desk()
    n = desk.total(LeafClassCounts(FOREST, 2, "shared"))[FOREST.leaf_offsets[0] :].sum(axis=0) / 3
    desk.draw_harder_samples(sampling, FOREST, votes)
    counts = desk.total(LeafClassCounts(FOREST, 2, "without_replacement"))
    seen = np.add.reduceat(counts, FOREST.leaf_offsets[:-1])
    for k, p in ((0, 0.4), (1, 0.2)):
        assert np.abs(seen[:, k] - n[k] * p).max() <= 5 * math.sqrt(n[k] * p * (1 - p))
    # Levels and leaves that follow see the same samples.
    before = desk.draws.keys
    desk.draw_samples(sampling)
    assert desk.draws.keys == before
    assert desk.ledger.entries == ()

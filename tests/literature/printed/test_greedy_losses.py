"""Printed flaws of greedy forests: each loses more than it says, and its repair does not."""

import math

import numpy as np
import pytest

from dpforest import (
    GreedyForestClassifier,
    NoGuaranteeWarning,
    NumericFeature,
    Schema,
    Target,
    literature,
)
from dpforest.audit import Table, exhaust
from dpforest.audit.script import branches_of
from dpforest.literature.printed.greedy import PrintedGreedyForest

CLASSES = Target(classes=(0, 1))
ONE = Schema((NumericFeature("x", 0.0, 1.0, cuts=(0.5,)),), CLASSES)
TWO = Schema((*ONE.features, NumericFeature("z", 0.0, 1.0, cuts=(0.5,))), CLASSES)
RECORDS = [(0.2, 0), (0.2, 1)]
SMALL = {
    "schema": ONE, "n_estimators": 1, "max_depth": 1, "min_support": 0.0, "stopping": None,
    "splits": "binary", "level_budget": "even", "random_state": 0,
}  # fmt: skip


def check(published, records=RECORDS, *, least=1, most=3, epsilon=1.0, **options):
    flaws = {"flaws": published} if published else {}
    kind = PrintedGreedyForest if published else GreedyForestClassifier
    forest = kind(epsilon=epsilon, **flaws, **SMALL | options)
    return exhaust(forest, records, least=least, most=most, claim=epsilon)


@pytest.mark.parametrize(("n_estimators", "most", "epsilon"), [(1, 3, 1.5), (2, 2, 8.0)])
def test_bootstrap_samples_are_caught(n_estimators, most, epsilon):
    options = {"n_estimators": n_estimators, "most": most, "epsilon": epsilon}
    assert not check(("bootstrap",), sampling="shared", leaves="counts", **options).holds
    assert check((), sampling="shared", leaves="counts", **options).holds


def test_the_loss_of_a_bootstrap_sample_is_that_of_its_formula():
    # Half of epsilon is for the leaves: log E exp((2 M - 1) epsilon / 2), M binomial (3, 1/3).
    report = check(("bootstrap",), sampling="shared", leaves="counts", epsilon=2.0)
    chances = [math.comb(3, m) * 2 ** (3 - m) / 27 for m in range(4)]
    expected = math.log(sum(p * math.exp(2 * m - 1) for m, p in enumerate(chances)))
    assert report.worst_loss == pytest.approx(expected)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_stopping_at_pure_nodes_is_caught(splits):
    assert check(("pure_stop",), splits=splits).worst_loss == math.inf
    assert check((), splits=splits).holds
    assert check((), splits=splits, stopping="candidate").holds


GAIN = {
    "schema": TWO, "splits": "multiway", "criterion": "information_gain",
    "selection": "exponential", "n_bound": 61, "epsilon": 8.0,
}  # fmt: skip
ALL_BUT_ONE = {"records": [(0.2, 0.2, 0), (0.7, 0.2, 1)], "least": 60, "most": 61}


def test_the_gain_ratio_at_the_sensitivity_of_information_gain_is_caught():
    report = check(("gain_ratio",), **ALL_BUT_ONE, **GAIN)
    assert not report.holds
    # 60 records of one kind, and one more that is alone in its bin.
    assert len(set(report.pair[0])) == 1
    assert check((), **ALL_BUT_ONE, **GAIN).holds


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_selective_aggregation_is_caught(epsilon):
    options = {"n_estimators": 2, "sampling": "shared", "epsilon": epsilon, "most": 2}
    report = check(("selective_aggregation",), **options)
    assert not report.holds
    assert report.worst_loss > math.log(2)  # however small epsilon is
    assert check((), **options).holds


TWO_PHASES = {"n_estimators": 2, "second_phase": 0.5}


def test_normalised_weights_of_misclassified_records_are_caught():
    report = check(("misclassified_weights",), least=2, sampling="shared", **TWO_PHASES)
    assert not report.holds


def test_weights_of_a_record_by_itself_hold():
    report = check((), most=2, sampling="without_replacement", sample_share=1.0, **TWO_PHASES)
    assert report.holds


def test_edprf_as_published_chooses_at_half_the_monotone_rate():
    # Two records of one class and one of the other, in one bin of x and in two bins of z.
    records = Table(np.array([[0.2, 0.2], [0.2, 0.2], [0.2, 0.7]]), np.array([0, 0, 1]))
    forest = literature.make(
        "edprf", variant="as_published", epsilon=3.0, schema=TWO, n_estimators=1, max_depth=1,
        random_state=0,
    )  # fmt: skip
    with pytest.warns(NoGuaranteeWarning):
        branches = branches_of(forest, records)
    # Permute-and-flip takes the worse of two with half of exp(-rate times the difference): a third
    # of epsilon is for the choice (Delta = 2, Gini differs by 4/3), the rest for leaves (by 1).
    worse = math.exp(-1.0 / 4 * 4 / 3) / 2
    assert sorted(float(branch.weight) for branch in branches) == pytest.approx(
        [worse, 1 - worse],
        abs=1e-3,  # scores are whole numbers of 1 / 1024
    )
    labels = {round(float(min(row)), 9) for branch in branches for row in branch.choices}
    assert round(math.exp(-2.0 / 2) / 2, 9) in labels

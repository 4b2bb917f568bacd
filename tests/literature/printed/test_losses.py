"""Printed algorithms that break their claim in a small world, each beside its repair."""

import math

import pytest

from dpforest import (
    CategoricalFeature,
    MedianForestClassifier,
    NumericFeature,
    RandomDecisionForestClassifier,
    Schema,
    Target,
)
from dpforest.audit import exhaust
from dpforest.literature.printed.median import PrintedMedianForestClassifier
from dpforest.literature.printed.random import SmoothLabelForest, SnrForest

CLASSES = Target(classes=(0, 1))
ONE = Schema((CategoricalFeature("a", (0, 1)),), CLASSES)
TWO = Schema((*ONE.features, CategoricalFeature("b", (0, 1))), CLASSES)


SMOOTH = (SmoothLabelForest, RandomDecisionForestClassifier)
SNR = (SnrForest, RandomDecisionForestClassifier)
MEDIAN = (PrintedMedianForestClassifier, MedianForestClassifier)


def numeric(n_bins):
    cuts = tuple(i / n_bins for i in range(1, n_bins))
    return Schema((NumericFeature("x", 0.0, 1.0, cuts=cuts),), CLASSES)


def check(kinds, records, *, most, variant, epsilon=1.0, **options):
    """A print, or its repair."""
    printed, repaired = kinds
    settings = {"n_estimators": 1, "max_depth": 1, "random_state": 0, **options}
    forest = (printed if variant else repaired)(epsilon=epsilon, **settings)
    return exhaust(forest, records, most=most, claim=epsilon)


def smooth(variant, *, most=4, n_estimators=1, epsilon=1.0):
    return check(
        SMOOTH, [(0, 0), (0, 1)], most=most, variant=variant, epsilon=epsilon, schema=ONE,
        leaves="label", sampling="disjoint",
        n_estimators=n_estimators,
    )  # fmt: skip


@pytest.mark.parametrize("n_estimators", [1, 2])
def test_smooth_sensitivity_in_a_private_choice_is_caught(n_estimators):
    report = smooth("as_published", n_estimators=n_estimators)
    assert not report.holds
    assert report.worst_loss > 2.5
    assert smooth(None, n_estimators=n_estimators).holds


def test_the_loss_of_smooth_sensitivity_is_that_of_its_formula_and_has_no_bound():
    losses = [smooth("as_published", most=most).worst_loss for most in (2, 3, 4)]

    def wrong(lead):
        """The probability of the class that the leaf has not seen."""
        return 1 / (1 + math.exp(math.exp(lead) / 2))

    expected = [math.log(wrong(most - 1) / wrong(most)) for most in (2, 3, 4)]
    assert losses == pytest.approx(expected, rel=1e-4)
    assert losses == sorted(losses)


def snr(variant, most):
    options = {"n_estimators": "auto"} if variant else {"n_hint": 24, "n_estimators": "auto"}
    return check(
        SNR, [(0, 0, 0)], most=most, variant=variant, schema=TWO,
        pruning="snr", **options,
    )  # fmt: skip


def test_a_number_of_trees_that_reads_the_number_of_records_is_caught():
    # A second tree is grown from the 23rd record on.
    assert snr("as_published", most=22).holds
    assert snr("as_published", most=23).worst_loss == math.inf
    assert snr(None, most=24).holds


def diprime(variant, n_bins=8, leaves="label"):
    records = [(0.01, 0), (0.6, 0), (0.99, 1)]
    return check(
        MEDIAN, records, most=3, variant=variant, schema=numeric(n_bins),
        leaves=leaves,
    )  # fmt: skip


@pytest.mark.parametrize("leaves", ["label", "counts"])
def test_diprime_as_published_is_caught(leaves):
    assert not diprime("as_published", leaves=leaves).holds
    assert diprime(None, leaves=leaves).holds


def test_the_loss_of_diprime_grows_with_the_fineness_of_the_cuts():
    losses = [diprime("as_published", n_bins).worst_loss for n_bins in (4, 8, 16)]
    assert losses[0] < losses[1] < losses[2]
    assert losses[2] > 2.0


def thesis(variant):
    return check(
        MEDIAN, [(0, 0), (1, 1)], most=8, variant=variant, schema=ONE,
        cuts="grid", leaves="label",
    )  # fmt: skip


def test_the_thesis_as_published_is_caught():
    # With enough records of both classes the root is divided, and the model shows that it was.
    report = thesis("as_published")
    assert report.worst_loss == math.inf
    assert "BROKEN" in str(report)
    assert "inf" in str(report)
    assert thesis(None).holds

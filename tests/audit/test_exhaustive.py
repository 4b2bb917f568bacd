import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Target,
)
from dpforest.audit import exhaust
from dpforest.audit.exhaustive import worst_loss
from dpforest.audit.script import Noise, Way, exponential_law, permute_and_flip_law
from dpforest.literature.printed.random import SmoothLabelForest
from dpforest.privacy.accounts import spends
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.mechanisms import selection

EPSILON = 0.7
TWO = Schema(
    (CategoricalFeature("a", (0, 1)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
)
ONE = Schema(TWO.features[:1], TWO.target)


def check(schema=TWO, most=2, **options):
    settings = {"n_estimators": 2, "max_depth": 2, "leaves": "label", "random_state": 3, **options}
    forest = RandomDecisionForestClassifier(epsilon=EPSILON, schema=schema, **settings)
    records = list(itertools.product((0, 1), repeat=len(schema.features) + 1))
    return exhaust(forest, records, most=most)


@pytest.mark.parametrize("leaves", ["label", "counts"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_a_forest_holds_and_is_tight(leaves, neighbors):
    report = check(leaves=leaves, neighbors=neighbors)
    assert report.holds
    assert report.worst_loss == pytest.approx(EPSILON, rel=1e-9)
    assert str(report).startswith("holds: (epsilon = 0.7, delta = 0)")


def test_trees_on_disjoint_records_hold():
    # Every way of dealing the records out to the two trees is followed.
    report = check(ONE, most=3, max_depth=1, sampling="disjoint")
    assert report.holds
    assert report.worst_loss == pytest.approx(EPSILON, rel=1e-9)


def test_noise_after_secret_draws_is_a_mixture():
    # Counts of two trees on disjoint records: Laplace noise around every way of dealing them out.
    report = check(ONE, most=2, max_depth=1, sampling="disjoint", leaves="counts")
    assert report.holds
    assert report.worst_loss == pytest.approx(EPSILON, rel=1e-9)


def noisy(weight, *totals, scale=2, shown=b""):
    noises = tuple(Noise(np.array(t), Fraction(scale)) for t in totals)
    return Way(shown, Decimal(weight), (), noises)


def test_the_loss_of_noise_after_choices_adds_up():
    one, other = noisy("0.5", [3, 0], [1]), noisy("0.25", [2, 2], [1])
    assert worst_loss([one], [other]) == pytest.approx(math.log(2) + 3 / 2)
    assert worst_loss([other], [one]) == pytest.approx(math.log(2) + 3 / 2)


def test_the_loss_of_a_mixture_is_that_of_its_worst_release():
    mixture, single = [noisy("0.5", [0]), noisy("0.5", [4])], [noisy(1, [2])]
    far = np.arange(-30, 40)[:, np.newaxis]
    densities = np.exp(-np.abs(far - [0, 4, 2]) / 2)
    ratios = np.log((densities[:, 0] + densities[:, 1]) / 2 / densities[:, 2])
    assert worst_loss(mixture, single) == pytest.approx(np.abs(ratios).max())


def test_what_one_table_alone_can_release_has_an_infinite_loss():
    assert worst_loss([noisy(1, [2])], [noisy(1, [2], scale=3)]) == math.inf
    assert worst_loss([noisy(1, [2], shown=b"a")], [noisy(1, [2], shown=b"b")]) == math.inf
    certain, open_ = ((Decimal(1), Decimal(0)),), ((Decimal("0.5"),) * 2,)
    assert worst_loss([Way(b"", Decimal(1), certain)], [Way(b"", Decimal(1), open_)]) == (math.inf)


def test_a_claim_may_be_given_and_must_be_where_the_ledger_has_none():
    settings = {"n_estimators": 1, "max_depth": 1, "leaves": "label", "sampling": "disjoint"}
    forest = SmoothLabelForest(schema=ONE, random_state=0, **settings)
    with pytest.raises(ValueError, match=r"smooth sensitivity.*claim=1.0"):
        exhaust(forest, [(0, 0), (1, 1)], most=1)
    assert not exhaust(forest, [(0, 0), (1, 1)], most=3, claim=1.0).holds
    assert exhaust(forest, [(0, 0), (1, 1)], most=3, claim=20.0).holds
    honest = RandomDecisionForestClassifier(schema=ONE, random_state=0, **settings)
    assert not exhaust(honest, [(0, 0), (1, 1)], most=3, claim=0.9).holds


def test_control_half_the_noise_is_caught():
    honest = selection.selection_rate
    with patch.object(selection, "selection_rate", lambda *a, **k: 2 * honest(*a, **k)):
        report = check()
    assert not report.holds
    assert report.worst_loss == pytest.approx(2 * EPSILON, rel=1e-9)


def test_control_shared_trees_with_the_whole_budget_are_caught():
    with (
        patch.object(TreeSampling, "price_of_tree", lambda self, epsilon: epsilon),
        patch.object(spends.Branch, "cost", lambda self: self.parts[0].cost()),
    ):
        report = check()
    assert not report.holds
    assert report.worst_loss == pytest.approx(2 * EPSILON, rel=1e-9)


@pytest.mark.parametrize("utilities", [[0, 0], [3, 1, 2], [5, 5, 0, 1]])
def test_laws_are_those_of_the_mechanisms(utilities):
    rate = Fraction(7, 10)
    settings = {"epsilon": rate, "sensitivity": 1, "monotone": True}
    flip = selection.permute_and_flip_probabilities(utilities, **settings)
    exponential = selection.exponential_probabilities(utilities, **settings)
    assert np.allclose([float(p) for p in permute_and_flip_law(utilities, rate)], flip, atol=1e-12)
    assert np.allclose([float(p) for p in exponential_law(utilities, rate)], exponential)
    with localcontext(prec=60):
        assert abs(sum(permute_and_flip_law(utilities, rate)) - 1) < Decimal("1e-50")


def test_gaussian_noise_is_refused():
    forest = PrivateForestClassifier(epsilon=1.0, schema=ONE, n_hint=5, n_estimators=1)
    with pytest.warns(RuntimeWarning, match="spent"), pytest.raises(ValueError, match="Gaussian"):
        exhaust(forest, [(0, 0), (1, 1)], most=1)


def test_the_forest_is_as_before_afterwards():
    check()
    labels = selection.permute_and_flip(
        [[0, 90]], epsilon=math.inf, sensitivity=1, monotone=True, bits=None
    )
    assert labels.tolist() == [1]


def test_what_follows_from_a_noisy_count_is_refused():
    forest = RandomDecisionForestClassifier(schema=ONE, max_depth=1, random_state=0)
    with pytest.raises(ValueError, match="after Laplace noise"):
        exhaust(forest, [(0, 0), (1, 1)], most=1)

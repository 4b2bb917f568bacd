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
from dpforest.audit.script import exponential_law, permute_and_flip_law
from dpforest.privacy import curator as curators
from dpforest.privacy import selection

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


def test_control_half_the_noise_is_caught():
    honest = selection.selection_rate
    with patch.object(selection, "selection_rate", lambda *a, **k: 2 * honest(*a, **k)):
        report = check()
    assert not report.holds
    assert report.worst_loss == pytest.approx(2 * EPSILON, rel=1e-9)


def test_control_shared_trees_with_the_whole_budget_are_caught():
    with (
        patch.object(curators, "share_of_tree", lambda epsilon, n_trees, sampling: epsilon),
        patch.object(curators.Branch, "cost", lambda self: self.parts[0].cost()),
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

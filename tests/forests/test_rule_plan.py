"""A model is one rule where there is little signal, and tries one where there is a little more."""

import math
from fractions import Fraction

import pytest

from dpforest.forests.purse import Purse
from dpforest.forests.rule_plan import is_for_one_rule, rule_trial_share


@pytest.mark.parametrize("purse", [Purse(0.1, 1e-6), Purse(0.1, 0.0), Purse(1.0, 1e-6)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_more_records_a_rule_gives_way_and_never_comes_back(purse, n_classes):
    for n_features in (2, 20):
        rules = [is_for_one_rule(purse, 2.0**k, n_features, n_classes) for k in range(24)]
        assert rules[0]
        assert not rules[-1]
        assert rules == sorted(rules, reverse=True)


def test_without_noise_or_with_many_classes_there_is_no_rule():
    assert not is_for_one_rule(Purse(math.inf, 1e-6), 10.0, 5, 2)
    assert not is_for_one_rule(Purse(0.1, 1e-6), 10.0, 5, 11)


def test_only_little_signal_of_two_classes_is_tried():
    purse = Purse(1.0, 1e-6)
    assert float(rule_trial_share(purse, 300.0, 6, 2)) == pytest.approx((20 / 71.0) ** 2, rel=0.01)
    assert 0 < rule_trial_share(purse, 180.0, 7, 2) < Fraction(1, 4)
    for other, *facts in (
        (purse, 180.0, 6, 2),
        (purse, 160.0, 7, 2),
        (purse, 3_000.0, 6, 2),
        (purse, 500.0, 6, 3),
        (Purse(1.0, 0.0), 500.0, 6, 2),
        (Purse(math.inf, 1e-6), 500.0, 6, 2),
    ):
        assert rule_trial_share(other, *facts) == 0

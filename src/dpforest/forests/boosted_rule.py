"""Where the flagship's classifier is one rule: too few records for their budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.forests.binning import public_bins
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.calibrating import CalibratedBoosting
from dpforest.forests.class_weights import WeighingClassifier
from dpforest.forests.one_rule import (
    CHOICE_SHARE,
    is_nearly_always_right,
    release_rule,
    trial_share,
    try_rule,
)
from dpforest.forests.plan import Purse, is_for_one_rule
from dpforest.privacy.accounts.accounting import pure_beside
from dpforest.privacy.accounts.spends import Gaussian, Price, Pure
from dpforest.privacy.desk import Desk
from dpforest.report.noise_runs import DescentNoise

CALIBRATION_SHARE = Fraction(6, 100)  # of what is left for a rule that was tried


class RuledBoosting(WeighingClassifier, CalibratedBoosting):
    """A boosted classifier that may be one rule; not to be used by itself."""

    def _may_be_one_rule(self, desk: Desk) -> bool:
        """Whoever asks for a shape of the trees gets trees, and a rule knows of no weights."""
        shape = self.n_estimators, self.max_depth, self.learning_rate, self.trees_per_round
        return not desk.has_weights and self.class_weight is None and set(shape) == {"auto"}

    def _learn_one_rule(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """By public facts and the noisy number of records, or after a trial of a rule."""
        if not self._may_be_one_rule(desk):
            return share
        purse = Purse(float(self.epsilon), float(self.delta))
        facts = self.n_records_ / desk.steps, self.n_features_in_, len(self.schema_.classes)
        trial = trial_share(purse, *facts)
        if not trial and not is_for_one_rule(purse, *facts):
            return share
        self._keep_bins(public_bins(self.schema_))
        desk.encode(self.encoding_, by_feature=True)
        known = self.encoding_.feature_bins, self.bin_weights_, len(self.schema_.classes)
        price, aside = None, CALIBRATION_SHARE * (share - trial)
        if trial:
            share -= trial
            if not is_nearly_always_right(try_rule(desk, *known, purse.price(trial), rng)):
                return share
            price = purse.price(share - aside)
        share -= self._look_at_target(desk, purse)
        rule = release_rule(desk, *known, price or self._all_that_is_left(purse, share), rng)
        self._clipped = True
        # A choice is no sum with noise in it: there is none to compare a rule with.
        self._start_noise = DescentNoise(0.0, 0.0)
        self._n_linear_trees = rule.trees.n_trees
        held = self._monotone().project(rule.trees, rule.values)
        self._keep_only(BoostedTrees(rule.trees, held))
        if trial:
            self._calibrate(desk, purse.price(aside))
        return Fraction(0)

    def _all_that_is_left(self, purse: Purse, share: Fraction) -> Price:
        """A pure price, which buys a choice more than a Gaussian one of the same epsilon and delta.

        Where a shared budget or a search has set Gaussian noise aside for the fit, a Gaussian one.
        """
        held = self.budget is not None or getattr(self, "_cap", None) is not None
        if held and not purse.pure:
            return Gaussian(purse.total * math.sqrt(share))
        stage = self.ledger_.stages[-1]
        epsilon, delta = Fraction(stage.budget_epsilon), float(stage.budget_delta)
        if not stage.total.mu_squared:
            return Pure(epsilon - stage.total.epsilon)
        shares = CHOICE_SHARE, 1 - CHOICE_SHARE
        return Pure(pure_beside(stage.total.mu, epsilon, delta, shares))

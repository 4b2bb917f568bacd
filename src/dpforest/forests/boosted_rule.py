"""Where the flagship's classifier is one rule: too few records for their budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.forests.base import COUNT_SHARE
from dpforest.forests.binning import public_bins
from dpforest.forests.calibrating import CalibratedBoosting
from dpforest.forests.class_weights import WeighingClassifier
from dpforest.forests.one_rule import (
    CHOICE_SHARE,
    is_any_rule_seldom_wrong,
    release_rule,
)
from dpforest.forests.purse import Purse
from dpforest.forests.rule_plan import is_for_one_rule, rule_trial_share
from dpforest.forests.starts import Start
from dpforest.forests.two_ways import Ways
from dpforest.privacy.accounts.accounting import pure_beside
from dpforest.privacy.accounts.set_aside import SetAside
from dpforest.privacy.accounts.spends import Gaussian, Price, Pure, Spend
from dpforest.privacy.desk import Desk

OTHER_WAY = "the way that the noisy count did not take"
CALIBRATION_SHARE = Fraction(6, 100)  # of what is left for a rule that was tried


class RuledBoosting(WeighingClassifier, CalibratedBoosting):
    """A boosted classifier that may be one rule; not to be used by itself."""

    def _may_be_one_rule(self, desk: Desk) -> bool:
        """Whoever asks for a shape of the trees gets trees, and a rule knows of no weights."""
        shape = self.n_estimators, self.max_depth, self.learning_rate, self.trees_per_round
        return not desk.has_weights and self.class_weight is None and set(shape) == {"auto"}

    def _learn_at_once(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """By public facts and the noisy number of records, or after a trial of a rule."""
        if not self._may_be_one_rule(desk):
            return share
        purse = self._purse()
        facts = self.n_records_, self.n_features_in_, len(self.schema_.classes)
        trial = rule_trial_share(purse, *facts)
        alone = not trial and is_for_one_rule(purse, *facts)
        if not (self._is_held or desk.count_is_public or self.n_hint is not None):
            share -= self._set_delta_aside(desk, purse, alone=alone)
            purse = self._purse()
        if not trial and not alone:
            return share
        self._keep_bins(public_bins(self.schema_))
        desk.encode(self.encoding_, by_feature=True)
        known = self.encoding_.feature_bins, self.bin_weights_, len(self.schema_.classes)
        aside = CALIBRATION_SHARE * (share - trial)
        if trial:
            share -= trial
            asked = purse.price(trial), rng, self.n_records_
            if not is_any_rule_seldom_wrong(desk, *known, *asked):
                return share
        share -= self._learn_of_target(desk, purse)
        price = purse.price(share - aside) if trial else self._all_that_is_left(purse, share)
        rule = release_rule(desk, *known, price, rng)
        self._clipped = True
        self._keep_only(Start.chosen(self._held(rule)))
        if trial:
            self._calibrate(desk, purse.price(aside))
        return Fraction(0)

    def _set_delta_aside(self, desk: Desk, purse: Purse, *, alone: bool) -> Fraction:
        """Debit the delta of the way that the noisy count did not take; returns a share to keep.

        ``docs/privacy/boosted.md`` (The choice of a rule) has the proof.
        """
        n_features, n_classes = self.n_features_in_, len(self.schema_.classes)
        ways = Ways.of(purse, n_features, n_classes, COUNT_SHARE)
        aside = ways.delta_aside(self.n_records_, alone=alone)
        if not aside:
            return Fraction(0)
        desk.ledger.debit(Spend.of(OTHER_WAY, "set aside", SetAside(aside)))
        self._delta_aside_ = aside
        return ways.dearer_count(self._purse())

    @property
    def _is_held(self) -> bool:
        """Whether a shared budget or a search has set Gaussian noise aside for the fit."""
        return self.budget is not None or getattr(self, "_cap", None) is not None

    def _all_that_is_left(self, purse: Purse, share: Fraction) -> Price:
        """A pure price, which buys a choice more than a Gaussian one of the same epsilon and delta.

        A fit that is held to Gaussian noise pays a Gaussian one.
        """
        if self._is_held and not purse.pure:
            return Gaussian(purse.total * math.sqrt(share))
        stage = self.ledger_.stages[-1]
        epsilon = Fraction(stage.budget_epsilon)
        if not stage.total.mu_squared:
            return Pure(epsilon - stage.total.epsilon)
        delta = float(stage.budget_delta - stage.total.delta)
        shares = CHOICE_SHARE, 1 - CHOICE_SHARE
        return Pure(pure_beside(stage.total.mu, epsilon, delta, shares))

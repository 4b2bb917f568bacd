"""Where the flagship's classifier is one rule: too few records for their budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.forests.binning import public_bins
from dpforest.forests.boosted_ways import TwoWayBoosting
from dpforest.forests.calibrating import CalibratedBoosting
from dpforest.forests.class_weights import WeighingClassifier
from dpforest.forests.one_rule import (
    CHOICE_SHARE,
    is_any_rule_seldom_wrong,
    release_rule,
)
from dpforest.forests.rule_plan import is_for_one_rule, most_signal_of_a_rule, rule_trial_share
from dpforest.forests.starts import Start
from dpforest.privacy.desk import Desk

CALIBRATION_SHARE = Fraction(6, 100)  # of what is left for a rule that was tried


class RuledBoosting(WeighingClassifier, CalibratedBoosting, TwoWayBoosting):
    """A boosted classifier that may be one rule; not to be used by itself."""

    def _may_be_one_rule(self, desk: Desk) -> bool:
        """Whoever asks for a shape of the trees gets trees, and a rule knows of no weights."""
        return not desk.has_weights and self.class_weight is None and self._shape_is_free

    def _learn_at_once(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """By public facts and the noisy number of records, or after a trial of a rule."""
        if not self._may_be_one_rule(desk):
            return share
        purse = self._purse()
        facts = self.n_records_, self.n_features_in_, len(self.schema_.classes)
        trial = rule_trial_share(purse, *facts)
        alone = not trial and is_for_one_rule(purse, *facts)
        if self._count_chooses(desk):
            share -= self._set_delta_aside(desk, most_signal_of_a_rule(purse, *facts[1:]), alone)
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
        parts = CHOICE_SHARE, 1 - CHOICE_SHARE
        price = purse.price(share - aside) if trial else self._all_that_is_left(share, parts)
        rule = release_rule(desk, *known, price, rng)
        self._clipped = True
        self._keep_only(Start.chosen(self._held(rule)))
        if trial:
            self._calibrate(desk, purse.price(aside))
        return Fraction(0)

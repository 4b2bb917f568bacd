"""Probabilities that are as sure as they are right: all scores times one released factor.

A forest that stops early is less sure than it is right, one that learnt noise is surer. Which of
both, no leaf of a tree shows: within a leaf the sure and the unsure cancel. So a little of the
budget asks for it, once, at the end. A factor leaves the most probable class as it is.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.forests.boosted_base import BoostedForest
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.plan import NO_TREES
from dpforest.forests.purse import Purse
from dpforest.privacy.accounts.spends import Gaussian, Price
from dpforest.privacy.confidence import Confidence, confidence_sums
from dpforest.privacy.desk import Desk

FEWEST_RECORDS = 1_000.0  # with fewer, the model knows its records too well to be judged by them
MOST_SHARE = Fraction(2, 100)  # of the budget
WANTED, WORST = 0.005, 0.03  # noise in the mean excess: what is paid for, and when it is no use
TYPICAL_DOUBLINGS = 0.25  # that scores need, before anything is known
LEAST_GAIN = 0.02  # of the mean probability, when scores are doubled
BEND = 4 / 3  # little is taken for less: the records that judge are those that were learnt from
MOST_HALVINGS, MOST_DOUBLINGS = 1.0, 3.0


def calibration_share(purse: Purse, n_records: float) -> Fraction:
    """The share of the budget that calibration gets: none where it could not tell anything.

    Under Gaussian noise only.

    Examples
    --------
    >>> calibration_share(Purse(1.0, 1e-6), 1_200.0), calibration_share(Purse(0.1, 1e-6), 1_200.0)
    (Fraction(1, 50), Fraction(0, 1))
    """
    if not purse.private or purse.pure or n_records < FEWEST_RECORDS:
        return Fraction(0)
    wanted = Fraction((1.0 / (WANTED * n_records * purse.strength)) ** 2).limit_denominator(10**6)
    share = min(max(wanted, Fraction(1, 10**6)), MOST_SHARE)
    return share if wanted < MOST_SHARE * Fraction(WORST / WANTED) ** 2 else Fraction(0)


def factor_of(found: Confidence, n_records: float) -> float:
    """What scores are to be multiplied by, so that the model is as sure as it is right.

    Doubling the scores gains so much; what noise may have done, next to how often scores are
    doubled or halved typically, or to what was found if that is more, is left out.

    Examples
    --------
    >>> factor_of(Confidence(-50.0, 50.0, 0.0), 1_000.0)
    2.0
    >>> round(factor_of(Confidence(-50.0, 50.0, 1e9), 1_000.0), 6)
    1.0
    """
    gain = max(found.gain, LEAST_GAIN * n_records)
    doublings, doubt = -found.excess / gain, found.deviation / gain
    if abs(doublings) < 1.0:
        doublings = math.copysign(abs(doublings) ** BEND, doublings)
    typical = max(TYPICAL_DOUBLINGS, abs(doublings))
    heard = typical**2 / (typical**2 + doubt**2)
    return float(2.0 ** np.clip(heard * doublings, -MOST_HALVINGS, MOST_DOUBLINGS))


class CalibratedBoosting(BoostedForest):
    """A boosted classifier that is as sure as it is right; not to be used by itself."""

    def _boost(
        self,
        desk: Desk,
        rng: np.random.Generator,
        share: Fraction,
        before: BoostedTrees | None,
    ) -> None:
        purse = self._purse()
        aside = share * calibration_share(purse, self.total_weight_)
        super()._boost(desk, rng, share - aside, before)
        if aside:
            self._calibrate(desk, purse.price(aside))

    def _calibrate(self, desk: Desk, price: Price) -> None:
        """Ask how much surer than right the model is, and multiply its scores accordingly."""
        assert isinstance(price, Gaussian)
        if self.plan_ == NO_TREES:  # the scores are not yet those of the model
            desk.start_scores(self._loss().n_outputs)
            desk.add_to_scores(self.forest_.trees, self.forest_.values)
        found = confidence_sums(desk, price)
        self._multiply_scores(factor_of(found, self.total_weight_))

    def _multiply_scores(self, factor: float) -> None:
        """Post-processing: the values of leaves, and what is known of the noise in them."""
        times = np.float32(factor)
        self.forest_ = self._held(BoostedTrees(self.forest_.trees, times * self.forest_.values))
        self.leaf_noise_ = self.leaf_noise_.multiplied(times)
        if self._start_noise is not None:
            self._start_noise = self._start_noise.multiplied(factor)

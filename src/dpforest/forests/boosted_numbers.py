"""What the flagship's regressors share: where the target lies, and answers within its bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from dpforest.arrays import Values
from dpforest.export import Described
from dpforest.export.described import Link
from dpforest.forests.binning import public_bins
from dpforest.forests.boosted_ways import TwoWayBoosting
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.declared import fitted
from dpforest.forests.one_number import (
    flat,
    is_for_one_number,
    most_signal_of_numbers,
    release_numbers,
)
from dpforest.forests.plan import NO_TREES, TARGET_SHARE
from dpforest.forests.purse import Purse
from dpforest.forests.starts import Start
from dpforest.forests.straightening import (
    NOT_STRAIGHTENED,
    expected_scores,
    plan_straightening,
    straightened,
)
from dpforest.forests.target_look import TargetLook, look_at_target
from dpforest.losses import Loss, Pinball, Squared
from dpforest.losses.pinball import MEDIAN
from dpforest.privacy.desk import Desk
from dpforest.report.noise_runs import Chance

WIDTHS = 0.375  # residuals are clipped at so many standard deviations of the target
PURE_WIDTHS = 0.75  # the same under Laplace noise
WIDEST = 0.75  # of the deviations, as far as the smoothing of a quantile may reach
NEAR = 0.4  # of the targets on the smaller side of a quantile, as many as smoothing may reach
FINEST = 0.1  # of a cell of the look: below that nothing is known
BEYOND = 1.5  # what the look found, residuals may reach
NEAR_QUANTILES = 0.05  # of the records, those near enough to a quantile to tell of errors
UNKNOWN = 0.2  # of the declared range: a deviation, where nothing else is known of it
ALL_THE_WAY = 180.0  # signal: with less, scores of quantiles start where these of all targets lie
PURE_SIGNAL = 0.09  # what a unit of pure epsilon is worth next to one of mu, for that


class BoostedRegressor(RegressorMixin, TwoWayBoosting):
    """A boosted forest that predicts numbers; not to be used by itself."""

    target_center_: Any = fitted()
    target_width_: Any = fitted()
    target_deviation_: float = fitted()
    _near_center: float = fitted()
    _furthest: float = fitted()  # from the center, that the look found targets
    _lowered: Squared | Pinball = fitted()  # the loss, of all that is being learnt

    def _asked_quantiles(self) -> tuple[float, ...]:
        """The quantiles to be learnt, from low to high; none asks for the mean."""
        raise NotImplementedError

    @property
    def _n_learnt(self) -> int:
        """Scores that are learnt: of the mean one, of quantiles that of the median too."""
        return len({*self._asked_quantiles(), MEDIAN})

    def _least_signal(self, *, pure: bool) -> float:
        """With less the model is one number."""
        return most_signal_of_numbers(self._n_learnt, pure=pure)

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (n_outputs, n), into targets within the declared bounds."""
        targets = self._loss().predictions(scores, self._clipped)
        return np.asarray(np.clip(targets, *self.schema_.target_bounds))

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self._trees_to_go_on_from() and self._asked_quantiles() != _quantiles(self._lowered):
            raise ValueError(
                "the model was fitted with another loss: continue it with the same one, or fit a "
                "new one with warm_start=False"
            )

    def _learn_at_once(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """One number for all records, by public facts and the noisy number of records."""
        if desk.has_weights or not self._shape_is_free:
            return share
        purse, n_learnt = self._purse(), self._n_learnt
        alone = is_for_one_number(purse, self.n_records_, n_learnt)
        if self._count_chooses(desk):
            most = most_signal_of_numbers(n_learnt, pure=purse.pure)
            share -= self._set_delta_aside(desk, most, alone)
        if not alone:
            return share
        self._keep_bins(public_bins(self.schema_))
        bounds, asked = self.schema_.target_bounds, self._asked_quantiles()
        quantiles = asked or (MEDIAN,)
        price = self._all_that_is_left(share, (Fraction(1, len(quantiles)),) * len(quantiles))
        found = release_numbers(desk, bounds, quantiles, price)
        self._start_at(found, asked)
        self._clipped = True
        flat_line = flat(self._linear_design(), self.encoding_.n_bins, len(found))
        self._keep_only(Start.chosen(flat_line))
        return Fraction(0)

    def _start_at(self, numbers: tuple[float, ...], quantiles: tuple[float, ...]) -> None:
        """Measure scores from numbers that are all that is known of the target."""
        low, high = self.schema_.target_bounds
        self.target_deviation_ = width = UNKNOWN * (high - low)
        if quantiles:
            self._lowered = Pinball(quantiles, numbers, (width,) * len(numbers))
        else:
            self._lowered = Squared(numbers[0], width)
        self._near_center, self._furthest = 1.0, high - low
        self._tell_units()

    def _learn_of_target(self, desk: Desk, purse: Purse) -> Fraction:
        low, high = self.schema_.target_bounds
        price = purse.price(TARGET_SHARE)
        look, n_looks = look_at_target(desk, low, high, self.n_records_, price)
        mean, self.target_deviation_ = look.moments()
        self._furthest = max(look.high - mean, mean - look.low)
        if quantiles := self._asked_quantiles():
            nearer = _nearer(purse, self.n_records_)
            self._lowered = _pinball(look, {*quantiles, MEDIAN}, nearer)
            self._near_center = 0.0
        else:
            clipped_at = (PURE_WIDTHS if purse.pure else WIDTHS) * self.target_deviation_
            self._lowered = Squared(
                mean, min(high - low, clipped_at) if purse.private else high - low
            )
            self._near_center = look.within(self._lowered.width)
        self._tell_units()
        return n_looks * TARGET_SHARE

    def _boost(
        self, desk: Desk, rng: np.random.Generator, share: Fraction, before: BoostedTrees | None
    ) -> None:
        """Learn the median beside a quantile, which it leads, and keep what was asked for.

        Answers that are means are straightened in the end (`dpforest.forests.straightening`).
        """
        purse = self._purse()
        straight = NOT_STRAIGHTENED
        if isinstance(self._lowered, Squared):
            straight = plan_straightening(purse, self.total_weight_)
        super()._boost(desk, rng, share * (1 - straight.share), before)
        loss = self._loss()
        if isinstance(loss, Squared) and straight.share:
            if self.plan_ == NO_TREES:
                desk.start_scores(1)
                desk.add_to_scores(self.forest_.trees, self.forest_.values)
            price = purse.price(share * straight.share)
            scores = expected_scores(self.forest_, self.released_shares)
            reach = min(straight.reach, BEYOND * self._furthest / loss.width)
            straightened_loss = straightened(desk, loss, scores, reach, price)
            self._lowered = Squared(straightened_loss.center, straightened_loss.width)
        if isinstance(self._lowered, Pinball):
            asked = self._asked_quantiles()
            kept = [self._lowered.quantiles.index(q) for q in asked]
            self.forest_ = BoostedTrees(self.forest_.trees, self.forest_.values[:, kept])
            self._lowered = self._lowered.only(kept)
        self._tell_units()

    def _tell_units(self) -> None:
        loss = self._lowered
        units = (
            [loss.center, loss.width] if isinstance(loss, Squared) else [loss.centers, loss.widths]
        )
        self.target_center_, self.target_width_ = (
            float(np.squeeze(unit)) if np.size(unit) == 1 else np.array(unit) for unit in units
        )

    def _loss(self) -> Loss:
        return self._lowered

    def _described(self) -> Described:
        scale, center = self.target_width_, self.target_center_
        trees, values = self.forest_.trees, self.forest_.values
        link: Link = "number" if np.ndim(center) == 0 else "interval"
        bounds = self.schema_.target_bounds
        return Described(self.encoding_, trees, values, link, None, center, scale, bounds)

    @property
    def told(self) -> str:
        """What the model answers, in a word or two."""
        quantiles = _quantiles(self._lowered)
        if len(quantiles) > 1:
            return "interval"
        named = {(): "mean", (MEDIAN,): "median"}
        return named.get(quantiles) or f"{quantiles[0]:g} quantile"

    @property
    def score_units(self) -> tuple[float | Values, Values]:
        """Scores are measured from the center, in widths."""
        return self.target_width_, np.atleast_1d(self.target_center_)

    def _chance(self) -> Chance:
        if isinstance(self._lowered, Pinball):
            # Of the median, which leads the others; nothing is known of how many are clipped.
            return Chance(1.0, math.inf, NEAR_QUANTILES)
        spread = self.target_deviation_ / self._lowered.width
        return Chance(min(spread, 1.0) ** 2, spread, self._near_center)

    def _facts(self) -> dict[str, Any]:
        place = {
            "quantiles": list(_quantiles(self._lowered)),
            "target_center": np.asarray(self.target_center_).tolist(),
            "target_width": np.asarray(self.target_width_).tolist(),
            "target_deviation": self.target_deviation_,
            "near_center": self._near_center,
            "furthest": self._furthest,
        }
        return {**super()._facts(), **place}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        units = facts["target_center"], facts["target_width"]
        if facts["quantiles"]:
            numbers = [tuple(map(float, np.atleast_1d(unit))) for unit in units]
            self._lowered = Pinball(tuple(map(float, facts["quantiles"])), *numbers)
        else:
            self._lowered = Squared(*map(float, units))
        if self.forest_.values.shape[1] != self._lowered.n_outputs:
            raise ValueError("the leaf values do not fit the loss")
        self._tell_units()
        self.target_deviation_ = float(facts["target_deviation"])
        self._near_center = float(facts["near_center"])
        self._furthest = float(facts["furthest"])


def _quantiles(loss: Squared | Pinball) -> tuple[float, ...]:
    return loss.quantiles if isinstance(loss, Pinball) else ()


def _nearer(purse: Purse, n_records: float) -> float:
    """How far from the median scores of quantiles start, of the way to theirs of all targets.

    Outwards they are pulled harder than inwards, so they start half-way; with little signal they
    would not get there, and answers that are too wide are better than those that are too narrow.

    Examples
    --------
    >>> [round(_nearer(Purse(1.0, 1e-6), n), 2) for n in (500.0, 1_500.0, 5_000.0)]
    [1.0, 0.75, 0.5]
    """
    if not purse.private:
        return 0.5
    signal = n_records * purse.strength * (PURE_SIGNAL if purse.pure else 1.0)
    return min(max(1.0 - 0.25 * math.log2(max(signal, ALL_THE_WAY) / ALL_THE_WAY), 0.5), 1.0)


def _pinball(look: TargetLook, quantiles: set[float], nearer: float) -> Pinball:
    """The loss of some quantiles: where their scores start, and their units, from a look.

    Smoothing reaches as far as some of the targets lie, at least part of a cell of the look, and
    at most so many deviations, as the middle of the targets shows them: tails may be noise.
    """
    ordered = tuple(sorted(quantiles))
    median, cell = look.quantile(MEDIAN), (look.high - look.low) / len(look.shares)
    deviation = 0.5 * (look.quantile(0.84) - look.quantile(0.16))
    centers, widths = [], []
    for q in ordered:
        near = NEAR * min(q, 1.0 - q)
        reach = 0.5 * (look.quantile(q + near) - look.quantile(q - near))
        reach = max(min(reach, WIDEST * deviation), FINEST * cell)
        widths.append(2.0 * max(q, 1.0 - q) * reach)
        centers.append(median + nearer * (look.quantile(q) - median))
    return Pinball(ordered, tuple(centers), tuple(widths))

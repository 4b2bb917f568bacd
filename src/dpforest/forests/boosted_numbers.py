"""What the flagship's regressors share: where the target lies, and answers within its bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from dpforest.arrays import Values
from dpforest.export import Described
from dpforest.export.described import Link
from dpforest.forests.boosted_base import BoostedForest
from dpforest.forests.declared import fitted
from dpforest.forests.plan import TARGET_SHARE, Purse
from dpforest.forests.target_look import TargetLook, look_at_target
from dpforest.losses import Loss, Pinball, Squared
from dpforest.privacy.desk import Desk

HEARD = 0.05  # the share of residuals that are taken not to be clipped, by explanations
WIDTHS = 0.75  # residuals are clipped at so many standard deviations of the target
START = 1.0
START1 = 1.0
NEAR = 0.8  # times q (1 - q) is the share of the targets within a width above the quantile q


class BoostedRegressor(RegressorMixin, BoostedForest):
    """A boosted forest that predicts numbers; not to be used by itself."""

    _least_signals: ClassVar[tuple[float, float]] = (25.0, 150.0)

    target_center_: Any = fitted()
    target_width_: Any = fitted()
    target_deviation_: float = fitted()
    _quantiles: tuple[float, ...] = fitted()

    def _asked_quantiles(self) -> tuple[float, ...]:
        """The quantiles to be learnt, from low to high; none asks for the mean."""
        raise NotImplementedError

    def from_scores(self, scores: NDArray[np.floating[Any]]) -> Values:
        """Turn scores, shape (n_outputs, n), into targets within the declared bounds."""
        targets = self._loss().predictions(scores, self._clipped)
        return np.asarray(np.clip(targets, *self.schema_.target_bounds))

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self._trees_to_go_on_from() and self._asked_quantiles() != self._quantiles:
            raise ValueError(
                "the model was fitted with another loss: continue it with the same one, or fit a "
                "new one with warm_start=False"
            )

    def _look_at_target(self, desk: Desk, purse: Purse) -> Fraction:
        low, high = self.schema_.target_bounds
        price = purse.price(TARGET_SHARE, among=2)
        look = look_at_target(desk, low, high, self.n_records_, price)
        self._quantiles = self._asked_quantiles()
        self._measure_from(look, high - low, purse.private)
        return TARGET_SHARE

    def _measure_from(self, look: TargetLook, whole: float, private: bool) -> None:
        """Where scores begin, and their units: from a released look at the target."""
        mean, self.target_deviation_ = look.moments()
        if not self._quantiles:
            self.target_center_ = mean
            self.target_width_ = min(whole, WIDTHS * self.target_deviation_) if private else whole
        else:
            self.target_center_ = _one_or_all(
                [
                    look.quantile(0.5)
                    + (START if len(self._quantiles) > 1 else START1)
                    * (look.quantile(q) - look.quantile(0.5))
                    for q in self._quantiles
                ]
            )
            self.target_width_ = _one_or_all(
                [min(_width(look, q), WIDTHS * self.target_deviation_) for q in self._quantiles]
            )

    def _loss(self) -> Loss:
        if not self._quantiles:
            return Squared(self.target_center_, self.target_width_)
        centers, widths = map(np.atleast_1d, (self.target_center_, self.target_width_))
        return Pinball(self._quantiles, tuple(centers.tolist()), tuple(widths.tolist()))

    def _described(self) -> Described:
        scale, center = self.target_width_, self.target_center_
        trees, values = self.forest_.trees, self.forest_.values
        link: Link = "number" if np.ndim(center) == 0 else "interval"
        bounds = self.schema_.target_bounds
        return Described(self.encoding_, trees, values, link, None, center, scale, bounds)

    @property
    def told(self) -> str:
        """What the model answers, in a word or two."""
        if len(self._quantiles) > 1:
            return "interval"
        named = {(): "mean", (0.5,): "median"}
        return named.get(self._quantiles) or f"{self._quantiles[0]:g} quantile"

    @property
    def score_units(self) -> tuple[float | Values, Values]:
        """Scores are measured from the center, in widths."""
        return self.target_width_, np.atleast_1d(self.target_center_)

    def _chance(self) -> tuple[float, float]:
        if self._quantiles:
            return float(np.mean([4.0 * q * (1.0 - q) for q in self._quantiles])), HEARD
        # Of targets at both ends of a range nearly every residual is clipped: the worst case.
        return min(self.target_deviation_ / self.target_width_, 1.0) ** 2, HEARD

    def _facts(self) -> dict[str, Any]:
        place = {
            "quantiles": list(self._quantiles),
            "target_center": np.atleast_1d(self.target_center_).tolist(),
            "target_width": np.atleast_1d(self.target_width_).tolist(),
            "target_deviation": self.target_deviation_,
        }
        return {**super()._facts(), **place}

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self._quantiles = tuple(map(float, facts["quantiles"]))
        self.target_center_ = _one_or_all([float(each) for each in facts["target_center"]])
        self.target_width_ = _one_or_all([float(each) for each in facts["target_width"]])
        self.target_deviation_ = float(facts["target_deviation"])
        n_outputs = self._loss().n_outputs
        sizes = np.size(self.target_center_), np.size(self.target_width_)
        if self.forest_.values.shape[1] != n_outputs or sizes != (n_outputs, n_outputs):
            raise ValueError("the scores do not fit the quantiles")


def _width(look: TargetLook, quantile: float) -> float:
    """Half the range of the targets near a quantile, and no less than a cell of the look."""
    near = NEAR * quantile * (1.0 - quantile)
    width = 0.5 * (look.quantile(quantile + near) - look.quantile(quantile - near))
    return max(width, (look.high - look.low) / len(look.shares))


def _one_or_all(values: list[float]) -> float | Values:
    return values[0] if len(values) == 1 else np.array(values)

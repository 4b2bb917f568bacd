"""How forests that predict numbers are planned, whatever loss of numbers they lower."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from dpforest.losses.base import Drawing, Norm, stairs


class NumberRules:
    """The rules of the losses whose Hessians are all 1."""

    constant_hessian: ClassVar[bool] = True
    drawing: ClassVar[Drawing] = Drawing(0.95, 4.0, 0.95, 0.9, together=True)
    gaussian_drawing: ClassVar[Drawing] = drawing
    small_rounds: ClassVar[bool] = True
    many_features: ClassVar[int] = 10
    choice_share: ClassVar[Fraction] = Fraction(20, 100)
    chooses_trees: ClassVar[bool] = False

    @property
    def largest_hessian(self) -> float:
        """All are 1."""
        return 1.0

    @property
    def linear_values(self) -> float:
        """More than ranks, which hide how far a tail reaches."""
        return 0.7

    @property
    def most_linear_signal(self) -> float:
        """Trees take long to add up a line, step by step."""
        return 5000.0

    def hessian_part(self, norm: Norm) -> float:
        """Hessians only count records: most of the grid is for gradients."""
        return 0.15

    def damping(self, norm: Norm, step: float) -> float:
        """More than classes need."""
        return 56.0

    def leaf_damping(self, norm: Norm) -> float:
        """Two average leaves: large leaves then lead, which is smoother than small ones are."""
        return 0.0 if norm == 1 else 2.0

    def total_step(self, signal: float, norm: Norm) -> float:
        """From 10 to 120; longer by the leaf damping, which slows every step."""
        step = min(max(38.0 * math.pow(signal / 1000.0, 0.45), 10.0), 120.0)
        return step if norm == 1 else 0.8 * step * (1.0 + self.leaf_damping(norm))

    def longest_step(self, n_records: float, norm: Norm) -> float:
        """Further, with little noise, a model learns chance: what other records would not show."""
        return math.inf if norm == 1 else 2.2 * math.sqrt(max(n_records, 1.0))

    def depth(self, signal: float, n_features: int, any_numeric: bool, norm: Norm) -> int:
        """From 3 to 6, whatever the norm."""
        return stairs(signal / n_features, (5.0, 300.0, 2000.0), 3)

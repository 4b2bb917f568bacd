"""What a loss is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values

Norm = Literal[1, 2]
"""How the derivatives of a record are measured: L1 under Laplace noise, L2 under Gaussian noise."""

MOST_NOISE = 1.5  # in the score of a place without records


class Drawing(NamedTuple):
    """How features and cuts are drawn; see `dpforest.trees.oblivious_grower.ObliviousGrower`."""

    learnt: float
    focus: float
    memory: float
    learnt_cuts: float
    together: bool


class Loss(ABC):
    """A loss with the facts and rules that follow from it; a subclass is a frozen dataclass.

    A record has a gradient for each output and one Hessian for all of them. The rules given here
    are those of classification. *Signal* is the number of records times the budget, in units of
    what a record may add.
    """

    kernel: ClassVar[Callable[..., None]]
    """Writes the derivatives, as `derivatives` says; the constants come last."""
    clip_without_noise: ClassVar[float] = 2.0
    """The norm at which gradients are clipped where there is no noise to save: beyond all."""
    constant_hessian: ClassVar[bool] = False
    """Whether the Hessian of a record is 1, whatever its score."""
    gradients_add_up_to_zero: ClassVar[bool] = False
    """Whether the gradients of a record always do: then their mean is noise, and taken out."""
    drawing: ClassVar[Drawing] = Drawing(0.8, 1.0, 1.0, 0.0, together=False)
    """Elsewhere; under Laplace noise nothing goes together, whatever this says."""
    gaussian_drawing: ClassVar[Drawing] = Drawing(0.8, 2.0, 0.95, 0.9, together=True)
    """Under Gaussian noise, where any feature is a number and each has signal enough."""
    many_features: ClassVar[int] = 20
    """From so many on it pays to choose questions for the trees, rather than to draw all."""
    choice_share: ClassVar[Fraction] = Fraction(15, 100)
    """Of the budget for trees, what choosing costs."""
    chooses_trees: ClassVar[bool] = True
    """Whether it pays to choose the questions of whole trees, of few features without an order."""
    small_rounds: ClassVar[bool] = False
    """Whether many rounds of few trees pay: long ways stay stable then."""
    root_step: ClassVar[float] = 0.7
    """How far a model without noise goes, in units of the root of the number of records."""

    @property
    def n_outputs(self) -> int:
        """Scores of a record."""
        return 1

    @property
    def linear_values(self) -> float:
        """How far a linear start goes by the values of numbers, rather than by their ranks."""
        return 0.0

    @property
    def most_linear_signal(self) -> float:
        """With more, trees see all that a linear start sees."""
        return 200.0

    @property
    def constants(self) -> tuple[Any, ...]:
        """What the kernel has to know of this loss, beside the records."""
        return ()

    @property
    @abstractmethod
    def largest_hessian(self) -> float:
        """The largest Hessian of a record."""

    def derivatives(
        self,
        scores: NDArray[np.float32],
        target: NDArray[Any],
        slopes: Values,
        curvatures: Values,
    ) -> None:
        """Write the gradients and Hessians of some records, each by itself.

        Parameters
        ----------
        scores : ndarray of float32, shape (n_outputs, n)
        target : ndarray, shape (n,)
        slopes : ndarray of float64, shape (n_outputs, n)
            Where the gradients go.
        curvatures : ndarray of float64, shape (n,)
            Where the Hessians go.
        """
        self.kernel(scores, target, slopes, curvatures, *self.constants)

    def moves(self, steps: NDArray[Any]) -> NDArray[Any]:
        """By how much scores move when each output asks for a step of its own.

        Outputs are the last axis but one. Post-processing, as all that is done with steps.
        """
        return steps

    @abstractmethod
    def predictions(self, scores: NDArray[np.floating[Any]], clipped: bool) -> Values:
        """What scores, shape (n_outputs, n), say of records: probabilities or targets.

        ``clipped`` is whether gradients were clipped on the way, which some links undo.
        """

    @abstractmethod
    def clip(self, norm: Norm) -> float:
        """The norm at which gradients are clipped under noise: at most what they start with."""

    def hessian_part(self, norm: Norm) -> float:
        """The largest weighted Hessian, relative to the clip."""
        return 0.2 if norm == 1 else 0.37

    def damping(self, norm: Norm, step: float) -> float:
        """What is added to the Hessian of a leaf, in units of a record's bound over mu.

        ``step`` is how far the model goes. Where there are hardly any records nothing but the
        damping holds noise back, and none of it is taken back: of all trees together it is ``step``
        over the damping, in units of the score.
        """
        return 15.0 if norm == 1 else max(20.0, step / MOST_NOISE)

    def leaf_damping(self, norm: Norm) -> float:
        """What is added to the Hessian of a leaf beside, in units of an average leaf's."""
        return 0.0

    def total_step(self, signal: float, norm: Norm) -> float:
        """Rounds times learning rate: how far the model goes from where it starts."""
        power = 0.42 if norm == 2 and signal > 1000.0 else 0.35
        step = 30.0 * math.pow(signal / 1000.0, power)
        return min(max(step, 25.0), 45.0) if norm == 1 else min(max(step, 10.0), 120.0)

    def longest_step(self, n_records: float, norm: Norm) -> float:
        """What the total step may be at most, whatever the signal."""
        return math.inf

    def depth(self, signal: float, n_features: int, any_numeric: bool, norm: Norm) -> int:
        """The levels of a tree."""
        if norm == 1:
            return 4
        return stairs(signal / n_features, (2.0, 50.0, 1500.0), 2)


def stairs(value: float, steps: tuple[float, ...], lowest: int) -> int:
    """The lowest, plus 1 for each step that the value reaches.

    Examples
    --------
    >>> stairs(7.0, (5.0, 200.0, 1500.0), 3)
    4
    """
    return lowest + sum(value >= step for step in steps)

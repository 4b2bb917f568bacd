"""A loss on an integer grid, so that the sensitivity of its summed derivatives is exact.

A record's gradient and Hessian depend on that record and on the released model so far, so their
sums over records change, when a record comes or goes, by that record's integers alone.

The vector of gradients is shrunk to norm at most ``clip``, and the Hessian is weighted so that
it is at most ``hessian_part * clip``. Hence the norm of both together is at most
``clip * sqrt(1 + hessian_part^2)`` in L2 (for Gaussian noise) and ``clip * (1 + hessian_part)`` in
L1 (for Laplace noise); the grid has that many steps. Integers are cut off towards zero, which
keeps the bound, and `dpforest.records.gradient_kernels` drops a record whose integers break it all
the same, so that no rounding can.

Clipping at the norm which every record has at the start (1/2 for two classes) halves the noise. The
sides that a classifier takes stay the right ones, and what it does to probabilities is known and
undone in the end (`dpforest.losses.logistic`). More classes are clipped at less, and numbers far
within their range; what that does is measured and undone (`dpforest.forests.calibrating`,
`dpforest.forests.straightening`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpforest.losses.base import Loss, Norm

LARGEST_GRID = 1 << 12


@dataclass(frozen=True)
class IntegerLoss:
    """A loss and the integer grid on which its derivatives are summed.

    Parameters
    ----------
    loss : Loss
    norm : {1, 2}
        The norm of a record's integers that is bounded.
    grid : int
        The bound, at most 2**12.
    clip : float
        The largest norm of a record's gradients.
    hessian_part : float
        The largest weighted Hessian, relative to ``clip``.

    Examples
    --------
    >>> from dpforest.losses import Logistic
    >>> loss = IntegerLoss(Logistic(), 2, 4096, clip=0.5, hessian_part=0.37)
    >>> round(loss.bound, 3), round(loss.gradient_unit), round(loss.hessian_unit)
    (0.533, 7683, 5685)
    """

    loss: Loss
    norm: Norm
    grid: int
    clip: float
    hessian_part: float

    def __post_init__(self) -> None:
        if not 1 <= self.grid <= LARGEST_GRID:
            # Sums of a block share a word of 64 bits.
            raise ValueError(f"grid must be between 1 and {LARGEST_GRID}, got {self.grid}")

    @property
    def n_outputs(self) -> int:
        """Scores of a record."""
        return self.loss.n_outputs

    @property
    def bound(self) -> float:
        """The largest norm of the gradients and the weighted Hessian of a record."""
        part = self.hessian_part
        return self.clip * (math.sqrt(1.0 + part * part) if self.norm == 2 else 1.0 + part)

    @property
    def gradient_unit(self) -> float:
        """Grid steps in a gradient of 1."""
        return self.grid / self.bound

    @property
    def hessian_unit(self) -> float:
        """Grid steps in a Hessian of 1."""
        return self.gradient_unit * self.hessian_part * self.clip / self.loss.largest_hessian

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """What compiled code holds integers to: both units, the clip, and the limit of the norm.

        The limit is on the L1 norm, or on the square of the L2 norm: whole numbers, either way.
        """
        limit = self.grid if self.norm == 1 else self.grid**2
        return self.gradient_unit, self.hessian_unit, self.clip, float(limit)

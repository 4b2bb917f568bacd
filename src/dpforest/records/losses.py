"""Losses whose derivatives are integers with a proved bound, record by record.

A record's gradient and Hessian depend on that record and on the released model so far, so their
sums over records change, when a record comes or goes, by that record's integers alone. A record
has one gradient for each output and one Hessian for all of them:

- *logistic*: gradient p - y, Hessian p (1 - p) <= 1/4;
- *softmax* over K classes: gradients p_k - [k is the label], Hessian (1 - sum p_k^2) / 2, which is
  at most (1 - 1/K) / 2;
- *squared*: gradient (score - target), in units of the loss's width, Hessian 1.

The vector of gradients is shrunk to norm at most ``clip``, and the Hessian is weighted so that
it is at most ``hessian_part * clip``. Hence the norm of both together is at most
``clip * sqrt(1 + hessian_part^2)`` in L2 (for Gaussian noise) and ``clip * (1 + hessian_part)`` in
L1 (for Laplace noise); the grid has that many steps. Integers are cut off towards zero, which
keeps the bound, and the kernel drops a record whose integers break it all the same, so that no
rounding can.

Clipping at the norm which every record has at the start (1/2 for two classes) halves the noise. The
sides that a classifier takes stay the right ones, and what it does to probabilities is known and
undone in the end (`dpforest.forests.links`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

LossKind = Literal["logistic", "softmax", "squared"]
LARGEST_GRID = 1 << 12
KINDS: dict[LossKind, int] = {"logistic": 0, "softmax": 1, "squared": 2}


@dataclass(frozen=True)
class IntegerLoss:
    """A loss and the integer grid on which its derivatives are summed.

    Parameters
    ----------
    kind : {"logistic", "softmax", "squared"}
    n_outputs : int
        Scores a record: the classes of softmax, else 1.
    norm : {1, 2}
        The norm of a record's integers that is bounded.
    grid : int
        The bound, at most 2**12.
    clip : float
        The largest norm of a record's gradients.
    hessian_part : float
        The largest weighted Hessian, relative to ``clip``.
    center, width : float
        Of a squared loss: scores and targets are measured from the center in units of width.

    Examples
    --------
    >>> loss = IntegerLoss("logistic", 1, 2, 4096, clip=0.5, hessian_part=0.37)
    >>> round(loss.bound, 3), round(loss.gradient_unit), round(loss.hessian_unit)
    (0.533, 7683, 5685)
    """

    kind: LossKind
    n_outputs: int
    norm: Literal[1, 2]
    grid: int
    clip: float
    hessian_part: float
    center: float = 0.0
    width: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.grid <= LARGEST_GRID:
            # Sums of a block share a word of 64 bits.
            raise ValueError(f"grid must be between 1 and {LARGEST_GRID}, got {self.grid}")

    @property
    def bound(self) -> float:
        """The largest norm of the gradients and the weighted Hessian of a record."""
        part = self.hessian_part
        return self.clip * (math.sqrt(1.0 + part * part) if self.norm == 2 else 1.0 + part)

    @property
    def largest_hessian(self) -> float:
        """The largest Hessian of a record."""
        if self.kind == "logistic":
            return 0.25
        return 0.5 * (1.0 - 1.0 / self.n_outputs) if self.kind == "softmax" else 1.0

    @property
    def gradient_unit(self) -> float:
        """Grid steps in a gradient of 1."""
        return self.grid / self.bound

    @property
    def hessian_unit(self) -> float:
        """Grid steps in a Hessian of 1."""
        return self.gradient_unit * self.hessian_part * self.clip / self.largest_hessian

    @property
    def kernel_arguments(self) -> tuple[int, float, float, int, int, float, float, float]:
        """What the compiled gradients read."""
        limit = self.grid if self.norm == 1 else self.grid**2
        units = self.gradient_unit, self.hessian_unit
        return KINDS[self.kind], *units, limit, self.norm, self.clip, self.center, self.width

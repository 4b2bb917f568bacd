"""Losses whose derivatives are integers with a proved bound, record by record.

A record's gradient and Hessian depend on that record and on the released model so far, so their
sum over records changes, when a record comes or goes, by that record's integers alone. They are
scaled so that these integers have norm at most ``grid`` (L2 for Gaussian noise, L1 for Laplace):

- *logistic*, q = |p - y|: (q, c q (1 - q)) has squared L2 norm q^2 (1 + c^2 (1 - q)^2), at most 1
  while c^2 is at most (1 + q) / (q^2 (1 - q)), which is never below 11.09: so for c = 3.33. With
  c = 1 the L1 norm q + q (1 - q) = 1 - (1 - q)^2 is at most 1;
- *softmax*, r = 1 - p_y: the gradients are -r at the label and p_k elsewhere, together r. With
  Hessians p_k (1 - p_k) weighted by 2, a class adds p^2 (1 + 4 (1 - p)^2) to the squared L2 norm
  (r in the place of p at the label), and that is at most p, since p (1 + 4 (1 - p)^2) has its
  maxima on [0, 1], both 1, at 1/2 and 1. So the squared norm is at most r + r <= 2. In L1 there
  is one Hessian for all classes, r (1 - r): 2 r + 2 r (1 - r) = 2 - 2 (1 - r)^2 is at most 2;
- *squared*: the residual is clipped to [-1, 1] and the Hessian is 1, so that (residual, w) has L2
  norm at most sqrt(1 + w^2) and L1 norm at most 1 + w.

Integers are cut off towards zero, which keeps the bounds, and the kernel drops a record whose
integers break them all the same, so that no rounding can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

LossKind = Literal["logistic", "softmax", "squared"]
SHARED_HESSIAN = 3  # softmax with one Hessian for all classes
KINDS: dict[LossKind, int] = {"logistic": 0, "softmax": 1, "squared": 2}
HESSIAN_WEIGHTS: dict[tuple[LossKind, int], float] = {
    ("logistic", 2): 3.33,
    ("logistic", 1): 1.0,
    ("softmax", 2): 2.0,
    ("softmax", 1): 2.0,
    ("squared", 2): 0.5,
    ("squared", 1): 0.25,
}


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
    center, width : float
        Of a squared loss: scores and targets are measured from the center in units of width.

    Examples
    --------
    >>> loss = IntegerLoss("logistic", 1, 2, 4096)
    >>> round(loss.gradient_unit), round(loss.hessian_unit)
    (4096, 13640)
    """

    kind: LossKind
    n_outputs: int
    norm: Literal[1, 2]
    grid: int
    center: float = 0.0
    width: float = 1.0

    @property
    def hessian_weight(self) -> float:
        """How the Hessian is weighted against the gradient."""
        return HESSIAN_WEIGHTS[self.kind, self.norm]

    @property
    def bound(self) -> float:
        """The largest norm of the gradients and weighted Hessians of a record."""
        w = self.hessian_weight
        if self.kind == "logistic":
            return 1.0
        if self.kind == "softmax":
            return math.sqrt(2.0) if self.norm == 2 else 2.0
        return math.sqrt(1.0 + w * w) if self.norm == 2 else 1.0 + w

    @property
    def shares_hessian(self) -> bool:
        """Whether one Hessian, kept with the first output, serves all outputs."""
        return self.kind == "softmax" and self.norm == 1

    @property
    def gradient_unit(self) -> float:
        """Grid steps in a gradient of 1."""
        return self.grid / self.bound

    @property
    def hessian_unit(self) -> float:
        """Grid steps in a Hessian of 1."""
        return self.hessian_weight * self.grid / self.bound

    @property
    def kernel_arguments(self) -> tuple[int, float, float, int, int, float, float]:
        """What the compiled gradients read."""
        kind = SHARED_HESSIAN if self.shares_hessian else KINDS[self.kind]
        limit = self.grid if self.norm == 1 else self.grid**2
        units = self.gradient_unit, self.hessian_unit
        return kind, *units, limit, self.norm, self.center, self.width

"""Where the gradients of a choice are clipped: the closer, the surer the model is by then."""

from __future__ import annotations

from dpforest.arrays import Values

MEMORY = 0.7  # of what is remembered, what is left a round later
LEAST = 0.1  # of the clip, what is left of it at the least


class ChoiceClip:
    """The part of the clip that a choice takes, from Hessians that were released.

    Most records of a model that is nearly always right have gradients far shorter than the clip of
    its start: a choice among questions is then clipped closer, so that they are heard above its
    noise. How sure the model is the released Hessians say, which are largest where it knows
    nothing. Where classes cannot be told apart it is never sure, and the clip stays.

    Parameters
    ----------
    per_hessian : float
        Of the clip, for each unit of the Hessians of all records; 0 where the clip stays.

    Examples
    --------
    >>> import numpy as np
    >>> clip = ChoiceClip(per_hessian=0.02)
    >>> clip.part
    1.0
    >>> clip.learn(np.array([[10.0, 5.0], [12.0, 3.0]]))  # two trees, 15 in each
    >>> round(clip.part, 3)
    0.3
    """

    def __init__(self, per_hessian: float) -> None:
        self._per_hessian = per_hessian
        self._hessians, self._weight = 0.0, 0.0

    def learn(self, hessians: Values) -> None:
        """Take note of the released Hessians of a round, shape (n_trees, n_leaves)."""
        self._hessians = MEMORY * self._hessians + float(hessians.sum()) / len(hessians)
        self._weight = MEMORY * self._weight + 1.0

    @property
    def part(self) -> float:
        """The part for the next choice, from `LEAST` to 1."""
        if not self._per_hessian or not self._weight:
            return 1.0
        return min(max(self._per_hessian * self._hessians / self._weight, LEAST), 1.0)

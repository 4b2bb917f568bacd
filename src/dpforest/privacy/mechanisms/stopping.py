"""The number of trials of a random stopping, drawn exactly from whole random numbers."""

from __future__ import annotations

from collections.abc import Callable

from dpforest.privacy.accounts.stopping import Stopping

DrawApart = Callable[[int], int]
"""``draw(m)``: a uniform draw from 0, ..., m - 1."""


def draw_number_of_trials(law: Stopping, draw: DrawApart) -> int:
    """Draw from the law: geometric proposals, kept with probability c_k (see `Stopping`).

    Each factor (l + eta) / (l + 1) of c_k is a fraction, so a coin of its own decides it.

    Examples
    --------
    >>> draw_number_of_trials(Stopping(1, 20), lambda m: 0)
    1
    """
    while True:
        trials = 1
        while draw(law.odds) != 0:
            trials += 1
        if _is_kept(law, trials, draw):
            return trials


def _is_kept(law: Stopping, trials: int, draw: DrawApart) -> bool:
    a, b = law.eta.numerator, law.eta.denominator
    return a == b or all(draw(b * (one + 1)) < b * one + a for one in range(1, trials))

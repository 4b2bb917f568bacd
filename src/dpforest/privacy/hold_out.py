"""Verbs of a search: the marks of a trained candidate with noise, or the choice among all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Price, Spend
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records.marks import MarkSums

MARK_STEPS = 1 << 16  # of a mark: as good as continuous


def marks_noise(price: Price, steps: int) -> tuple[AdditiveNoise, int]:
    """The noise on the marks of a candidate, and its grid.

    Parameters
    ----------
    price : Pure or Gaussian
    steps : int
        Single records between neighbours; each changes the pair of sums by 1, in L1 norm and in L2.
    """
    grid = finest_grid(price, steps, MARK_STEPS)
    return AdditiveNoise.for_price(price, l1=grid * steps, l2=float(grid * steps)), grid


def marks_spend(price: Price, steps: int) -> Spend:
    """What the noisy marks of one candidate cost."""
    noise, grid = marks_noise(price, steps)
    return noise.spend("hold-out part: marks of the candidate", grid)


def noisy_marks(desk: Desk, price: Price) -> Released:
    """The sum of the marks, and of what is missing to the best ones, with noise."""
    noise, grid = marks_noise(price, desk.steps)
    desk.ledger.debit(marks_spend(price, desk.steps))
    noisy = desk.draws.add_noise(noise, desk.total(MarkSums(grid)))
    return Released(noisy / grid, noise.deviation / grid)


def selection_spend(epsilon: Fraction, steps: int) -> Spend:
    """What the choice among all trained candidates costs."""
    made = Selection("permute-and-flip", epsilon / steps, steps)
    return Spend.of("hold-out part: the candidate of most marks", made.name, made)


def choose_candidate(desks: Sequence[Desk], epsilon: Fraction) -> int:
    """The candidate of most marks, by permute-and-flip; a desk of marks for each.

    The desks hold marks of the same records and share ledger and draws. An added record adds
    between 0 and `MARK_STEPS` to the sum of every candidate, so utilities are monotone.
    """
    desk = desks[0]
    desk.ledger.debit(selection_spend(epsilon, desk.steps))
    sums = np.array([[one.total(MarkSums(MARK_STEPS))[0] for one in desks]])
    chosen = desk.draws.permute_and_flip(
        sums, epsilon=epsilon / desk.steps, sensitivity=MARK_STEPS, monotone=True
    )
    return int(chosen[0])

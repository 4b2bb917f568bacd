"""Noisy sums of a model's errors."""

from __future__ import annotations

import math

from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Gaussian, Price
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records.error_sums import N_SUMS, ErrorSums

ERROR_STEPS = 1 << 16  # as good as continuous


def error_sums(desk: Desk, bounds: tuple[float, float], most: float, price: Price) -> Released:
    """Noisy sums of 1, the error, its square, the target and its square, over all records.

    Errors are clipped at ``most``, which is public or was released; units are those of
    `ErrorSums`. A record changes each of the five sums by at most 1, so the L1 sensitivity is 5 and
    the L2 sensitivity its root; in steps of the grid no number is rounded beyond either.
    """
    l1, l2 = desk.steps * N_SUMS, desk.steps * math.sqrt(N_SUMS)
    steps = finest_grid(price, l2 if isinstance(price, Gaussian) else l1, ERROR_STEPS)
    noise = AdditiveNoise.for_price(price, l1=steps * l1, l2=steps * l2)
    desk.ledger.debit(noise.spend("sums of errors and targets", steps))
    noisy = desk.draws.add_noise(noise, desk.total(ErrorSums(*bounds, most, steps)))
    return Released(noisy / steps, noise.deviation / steps)

"""How much surer than right a released model is: what calibration pays for."""

from __future__ import annotations

from typing import NamedTuple

from dpforest.losses import LARGEST_GRID
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records.confidence_kernels import DRAWN_OUT
from dpforest.records.confidence_sums import ConfidenceSums


class Confidence(NamedTuple):
    """Noisy sums over records: how much surer than right, and how much surer with doubled scores.

    ``deviation`` is that of the noise in the first.
    """

    excess: float
    gain: float
    deviation: float


def confidence_sums(desk: Desk, price: Gaussian) -> Confidence:
    """Both sums over the records, of the scores that were released so far.

    What a record adds depends on itself and on released scores: whole numbers of L2 norm at most
    the grid (`dpforest.records.confidence_sums`), so that is the sensitivity.
    """
    grid = finest_grid(price, desk.steps, LARGEST_GRID)
    reach = grid * desk.steps
    noise = AdditiveNoise.for_price(price, l1=reach, l2=float(reach))
    desk.ledger.debit(noise.spend("how much surer than right the model is", grid))
    excess, gain = desk.draws.add_noise(noise, desk.total(ConfidenceSums(grid))) / grid
    return Confidence(float(excess), float(gain) / DRAWN_OUT, noise.deviation / grid)

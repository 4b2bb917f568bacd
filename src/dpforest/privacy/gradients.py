"""Noisy sums of gradients: what a boosted model and its linear start learn from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.losses import IntegerLoss
from dpforest.privacy.accounts.spends import Branch, Gaussian, Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records.gradient_sums import GradientsByScore, GradientSums
from dpforest.records.linear_sums import LinearSums
from dpforest.trees.linear import LinearDesign
from dpforest.trees.oblivious import ObliviousTrees


class GradientRelease(NamedTuple):
    """Released leaf sums: gradients, shape (trees, leaves, outputs), Hessians, (trees, leaves).

    ``deviation`` is that of the noise in a gradient.
    """

    gradients: NDArray[np.float64]
    hessians: NDArray[np.float64]
    deviation: float


def gradient_sums(
    desk: Desk, trees: ObliviousTrees, loss: IntegerLoss, price: Price, label: str
) -> GradientRelease:
    """Noisy sums of gradients and Hessians in every leaf of some trees, at a price a tree.

    The structure and the scores depend on what was released before. A record is in one leaf
    of each tree and adds integers of norm at most ``loss.grid`` there (L1 or L2, as the loss
    says; `dpforest.losses.integer` has the proof), so that is the sensitivity of a tree; the
    trees add up.
    """
    noise = _noise(desk, loss, price)
    spend = noise.spend("gradients and Hessians of the leaves", loss.gradient_unit)
    desk.ledger.debit(Branch(label, "sequential", (spend,), times=trees.n_trees))
    return _released(desk, GradientSums(trees, loss), noise)


def gradients_by_score(
    desk: Desk, edges: tuple[float, ...], loss: IntegerLoss, price: Price, label: str
) -> GradientRelease:
    """Noisy sums of gradients and Hessians of the records whose scores lie between two edges.

    Scores follow from a record's bins and from what was released before, and so do the edges. A
    record is in one cell and adds integers of norm at most ``loss.grid`` there, so that is the
    sensitivity, however many cells there are.
    """
    noise = _noise(desk, loss, price)
    desk.ledger.debit(noise.spend(label, loss.gradient_unit))
    return _released(desk, GradientsByScore(edges, loss), noise)


def _noise(desk: Desk, loss: IntegerLoss, price: Price) -> AdditiveNoise:
    """The noise that hides a record's integers at that price."""
    private = not math.isinf(price.mu if isinstance(price, Gaussian) else price.epsilon)
    if private and isinstance(price, Gaussian) != (loss.norm == 2):
        raise ValueError("a Gaussian price needs a loss bounded in L2, a pure one in L1")
    reach = loss.grid * desk.steps
    return AdditiveNoise.for_price(price, l1=reach, l2=float(reach))


def _released(
    desk: Desk, sums: GradientSums | GradientsByScore, noise: AdditiveNoise
) -> GradientRelease:
    """The sums with noise, in units of the loss; after the debit."""
    released, loss = desk.draws.add_noise(noise, desk.total(sums)), sums.loss
    return GradientRelease(
        released[..., 0] / loss.gradient_unit,
        released[..., 0, 1] / loss.hessian_unit,
        noise.deviation / loss.gradient_unit,
    )


def linear_sums(
    desk: Desk, design: LinearDesign, loss: IntegerLoss, price: Gaussian, label: str
) -> Values:
    """The noisy sum of every record's gradient times its row of a linear model.

    The rows depend on a record's bins and on what was released before, its gradient on itself and
    on released scores. A record adds integers of L2 norm at most ``loss.grid``
    (`dpforest.records.linear_sums`), so that is the sensitivity.

    Returns
    -------
    ndarray of float64, shape (n_outputs, n_weights)
    """
    if not isinstance(price, Gaussian):
        raise ValueError("a linear model is paid for by Gaussian noise: its L1 norm has no bound")
    noise = _noise(desk, loss, price)
    desk.ledger.debit(noise.spend(label, loss.gradient_unit))
    noisy = desk.draws.add_noise(noise, desk.total(LinearSums(design, loss)))
    return np.asarray(noisy / loss.gradient_unit)

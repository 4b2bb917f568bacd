"""The linear start of the flagship: what few records and a small budget can tell, before trees.

Noisy gradient descent: each step releases the sum of all records' gradients times their rows
(`dpforest.privacy.gradients.linear_sums`) and turns the weights against it, with momentum; the
later half of the weights is averaged. All but the sums is post-processing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.linear_plan import LinearPlan
from dpforest.forests.starts import Start
from dpforest.losses import IntegerLoss
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.desk import Desk
from dpforest.privacy.gradients import linear_sums
from dpforest.report.descent_noise import DescentNoise
from dpforest.trees.linear import LinearDesign
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.structure import FeatureBins

STEP = 3.0  # in units of the step that no direction overshoots
MOMENTUM = 0.5


def linear_start(
    desk: Desk,
    design: LinearDesign,
    bins: FeatureBins,
    loss: IntegerLoss,
    plan: LinearPlan,
    n_records: float,
    price: Gaussian,
) -> Start:
    """Release a linear model of binned records, as trees.

    Parameters
    ----------
    desk : Desk
        With records that are binned by feature.
    design : LinearDesign
        From released bins.
    bins : FeatureBins
    loss : IntegerLoss
        Bounded in L2, without Hessians.
    plan : LinearPlan
    n_records : float
        Noisy, or a public hint; positive.
    price : Gaussian
        Of one step.
    """
    weights = np.zeros((loss.n_outputs, design.n_weights))
    speed, later = np.zeros_like(weights), np.zeros_like(weights)
    rate = STEP / (n_records * loss.loss.largest_hessian)
    desk.start_scores(loss.n_outputs)
    for step in range(plan.n_steps):
        sums = linear_sums(desk, design, loss, price, f"linear start, {plan.n_steps} steps")
        if loss.loss.gradients_add_up_to_zero:
            sums = sums - sums.mean(axis=0)
        speed = MOMENTUM * speed - loss.loss.moves(rate * sums)
        weights = weights + speed
        if 2 * step >= plan.n_steps:
            later += weights
        desk.add_to_scores(*_as_trees(design, speed, bins))
    later /= plan.n_steps - (plan.n_steps + 1) // 2
    deviation = loss.bound * desk.steps / price.mu
    if loss.loss.gradients_add_up_to_zero:
        deviation *= math.sqrt(1.0 - 1.0 / loss.n_outputs)
    noise = DescentNoise.of_steps(plan.n_steps, rate, MOMENTUM, deviation)
    return Start(BoostedTrees(*_as_trees(design, later, bins)), noise)


def _as_trees(
    design: LinearDesign, weights: Values, bins: FeatureBins
) -> tuple[ObliviousTrees, NDArray[np.float32]]:
    trees, values = design.as_trees(weights, bins.n_bins)
    return trees, values.astype(np.float32)

"""How the flagship spends its budget and chooses its shape: public facts and a noisy n.

With T trees that add up to a budget mu, a leaf sum carries noise sqrt(T) / mu, and T trees average
it out again: what counts is neither T nor the batch but the *signal* n * mu, the number of records
times the budget, and the total step (rounds times learning rate). More signal affords more depth
and longer steps; damping keeps leaves quiet whose Hessians drown in noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpforest.forests.binning import BinSizes
from dpforest.privacy.accounting import mu_for
from dpforest.privacy.additive import Price, finest_grid
from dpforest.privacy.spends import Gaussian, Pure, exact
from dpforest.records.losses import IntegerLoss, LossKind

COUNT_SHARE = Fraction(2, 100)
BIN_SHARE = Fraction(8, 100)  # half for each of two looks
TARGET_SHARE = Fraction(4, 100)
LAPLACE_SIGNAL = 0.158  # what a unit of pure epsilon is worth next to a unit of mu, in the rules
LARGEST_GRID = 1 << 12  # steps of a record's derivatives: as good as continuous


@dataclass(frozen=True)
class Purse:
    """The budget of a fit and how shares of it are priced.

    Shares of a pure epsilon add up; of a Gaussian budget it is the squares of mu that do.

    Parameters
    ----------
    epsilon, delta : float
        delta = 0 asks for pure epsilon, by Laplace noise.
    """

    epsilon: float
    delta: float

    @property
    def private(self) -> bool:
        """Whether there is to be any noise."""
        return not math.isinf(self.epsilon)

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace."""
        return self.delta == 0 and self.private

    @property
    def total(self) -> float:
        """Epsilon of a pure budget, mu of a Gaussian one."""
        if not self.private or self.pure:
            return self.epsilon
        return mu_for(self.epsilon, self.delta)

    def price(self, share: Fraction, among: int = 1) -> Price:
        """The price of one of so many equal parts of a share of the budget."""
        if not self.private:
            return Pure(math.inf)
        if self.pure:
            return Pure(exact(self.epsilon) * share / among)
        return Gaussian(self.total * math.sqrt(share / among))


@dataclass(frozen=True)
class BoostingPlan:
    """The shape of the forest.

    Parameters
    ----------
    n_trees, trees_per_round, depth : int
    learning_rate : float
        Of a round: its trees are averaged and multiplied by this.
    damping : float
        Added to the Hessian of every leaf.
    """

    n_trees: int
    trees_per_round: int
    depth: int
    learning_rate: float
    damping: float


def bin_sizes(purse: Purse, n_records: float, n_features: int) -> BinSizes:
    """Coarse bins where a feature has little signal, fine ones elsewhere, finest without noise."""
    if not purse.private:
        return BinSizes(cells=250, bins=128)
    signal = n_records * purse.total * (LAPLACE_SIGNAL if purse.pure else 1.0)
    few = signal / n_features < 50
    return BinSizes(cells=32, bins=16) if few else BinSizes(cells=64, bins=32)


def make_loss(
    kind: LossKind,
    n_classes: int,
    purse: Purse,
    price: Price,
    steps: int,
    center: float = 0.0,
    width: float = 1.0,
) -> IntegerLoss:
    """The loss, clipped at the norm that gradients have at the start, on a grid that noise allows.

    A grid of 4096 steps is as good as none; tiny budgets, whose noise would leave the range of the
    exact sampler, get a coarser one.
    """
    norm: Literal[1, 2] = 1 if purse.pure else 2
    if kind == "squared":
        clip = 1.0 if purse.private else math.inf
        part = 0.25 if purse.pure else 0.5
    else:
        part = 0.2 if purse.pure else 0.37
        k = n_classes
        clip = 2.0 * (1.0 - 1.0 / k) if purse.pure else math.sqrt(1.0 - 1.0 / k)
        if kind == "logistic":
            clip = 0.5
    if not purse.private:
        clip = 2.0
    grid = finest_grid(price, steps, LARGEST_GRID)
    outputs = n_classes if kind == "softmax" else 1
    return IntegerLoss(kind, outputs, norm, grid, clip, part, center, width)


def plan_boosting(
    purse: Purse,
    tree_share: Fraction,
    bound: float,
    n_records: float,
    n_features: int,
    *,
    n_trees: int | None,
    trees_per_round: int | None,
    depth: int | None,
    learning_rate: float | None,
) -> BoostingPlan:
    """Fill in what the user left to ``"auto"`` (None).

    Parameters
    ----------
    purse : Purse
    tree_share : Fraction
        The share of the budget that is left for the trees.
    bound : float
        The norm of a record's derivatives.
    n_records : float
        Noisy, or a public hint.
    n_features : int
    n_trees, trees_per_round, depth, learning_rate
        What the user asked for.
    """
    if n_trees is None:
        n_trees = 1200 if not purse.private else 24 if purse.pure else 400
    if trees_per_round is None:
        trees_per_round = 4 if not purse.private else 1 if purse.pure else 10
    trees_per_round = min(trees_per_round, n_trees)
    rounds = -(-n_trees // trees_per_round)
    if not purse.private:
        return BoostingPlan(
            n_trees, trees_per_round, depth or 6, learning_rate or min(60.0 / rounds, 1.5), 1.0
        )
    if purse.pure:
        # Noise of deviation sqrt(2) T / epsilon is that of a Gaussian budget of this mu.
        mu = purse.epsilon * float(tree_share) / math.sqrt(2.0 * n_trees)
    else:
        mu = purse.total * math.sqrt(tree_share)
    signal = n_records * mu / bound
    if depth is None:
        depth = _depth(signal / n_features) + (1 if purse.pure else 0)
    step = min(max(30.0 * (signal / 1000.0) ** 0.35, 25.0), 45.0)
    rate = min(step / rounds, 1.5) if learning_rate is None else learning_rate
    return BoostingPlan(n_trees, trees_per_round, depth, rate, 20.0 * bound / mu + 1.0)


def _depth(signal_per_feature: float) -> int:
    for depth, most in ((2, 4.0), (3, 50.0), (4, 1000.0)):
        if signal_per_feature < most:
            return depth
    return 5

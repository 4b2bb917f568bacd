"""The flagship's rounds: random trees, of which each learns from what those before left over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values, stacked
from dpforest.forests.choosing import Choosing, Prices
from dpforest.forests.plan import BoostingPlan
from dpforest.losses import IntegerLoss
from dpforest.privacy.desk import Desk
from dpforest.privacy.gradients import GradientRelease, gradient_sums
from dpforest.report.notes import Notes
from dpforest.trees.deepening import Deepening, contrasts
from dpforest.trees.monotone import Holding, Monotone
from dpforest.trees.oblivious import MAX_DEPTH, ObliviousTrees
from dpforest.trees.oblivious_grower import ObliviousGrower
from dpforest.trees.structure import FeatureBins

LARGEST_STEP = 2.0  # of a leaf, in units of the score


@dataclass(frozen=True)
class BoostedTrees:
    """Released trees and what their leaves add to the scores.

    Parameters
    ----------
    trees : ObliviousTrees
    values : ndarray of float32, shape (n_trees, n_outputs, n_leaves)
    """

    trees: ObliviousTrees
    values: NDArray[np.float32]

    @classmethod
    def stack(cls, rounds: list[BoostedTrees]) -> BoostedTrees:
        """All rounds as one; the leaves that shallower trees lack are 0."""
        trees = ObliviousTrees.stack([part.trees for part in rounds])
        return cls(trees, stacked([part.values for part in rounds]))

    def __getitem__(self, which: slice) -> BoostedTrees:
        """Some of the trees."""
        return BoostedTrees(self.trees[which], self.values[which])

    def refuse_misfits(self, n_features: int) -> None:
        """ValueError when values or features do not fit: compiled code would not notice."""
        n_trees, _, n_leaves = self.values.shape
        if n_trees != self.trees.n_trees or n_leaves < self.trees.n_leaves:
            raise ValueError("the leaf values do not fit the trees")
        if self.trees.feature.max(initial=0) >= n_features:
            raise ValueError("the trees ask for a feature that is not there")


def grower_of(
    plan: BoostingPlan,
    bins: FeatureBins,
    weights: tuple[Values | None, ...],
    monotone: Monotone,
    rng: np.random.Generator,
) -> ObliviousGrower:
    """What draws the trees of a plan; parameters as in `ObliviousGrower`, and what cuts weigh."""
    return ObliviousGrower(
        bins,
        weights,
        rng,
        learnt=plan.learnt,
        focus=plan.focus,
        memory=plan.memory,
        learnt_cuts=plan.learnt_cuts,
        together=plan.together,
        monotone=monotone.signs != 0,
        chosen_levels=plan.chosen_levels,
        asking=plan.asking,
        candidate_trees=plan.candidate_trees,
    )


def boost(
    desk: Desk,
    grower: ObliviousGrower,
    loss: IntegerLoss,
    plan: BoostingPlan,
    prices: Prices,
    before: BoostedTrees | None = None,
    notes: Notes | None = None,
    monotone: Monotone | None = None,
) -> BoostedTrees:
    """Release round after round of trees, each fitted to what those before left over.

    Parameters
    ----------
    desk : Desk
        With records that are binned by feature.
    grower : ObliviousGrower
        Draws the structure and learns from what is released.
    loss : IntegerLoss
    plan : BoostingPlan
    prices : Prices
    before : BoostedTrees, optional
        A model to continue: a start, or all trees of an earlier fit.
    notes : Notes, optional
        Takes note of what explanations need.
    monotone : Monotone, optional
        Holds the trees to constraints, together.
    """
    desk.start_scores(loss.n_outputs)
    rounds = [] if before is None else [before]
    holding = None
    if monotone is not None and monotone.asks_anything:
        holding = Holding(monotone, loss.n_outputs)
    if before is not None:
        desk.add_to_scores(before.trees, before.values)
        if holding is not None:
            holding.hold(before.trees, before.values)
    deepening = Deepening(plan.depth, MAX_DEPTH if plan.deepening else plan.depth)
    choosing = Choosing(desk, grower, loss, plan, prices)
    sizes = list(_round_sizes(plan))
    desk.expect(len(sizes) + plan.n_choices)
    for number, n_trees in enumerate(sizes):
        choosing.before(number, deepening.structured)
        trees = grower.draw(n_trees, deepening.depth)
        label = f"trees of depth {deepening.depth}, {plan.trees_per_round} a round"
        release = gradient_sums(desk, trees, loss, choosing.tree_price, label)
        noise_of_hessians = release.deviation * loss.gradient_unit / loss.hessian_unit
        if loss.loss.gradients_add_up_to_zero:
            release = _centred(release)
        together = contrasts(release.gradients)
        deepening.learn(together, release.deviation)
        choosing.learn(release)
        steps = loss.loss.moves(leaf_values(release, plan))
        values = steps
        if holding is not None:
            values = holding.hold(trees, steps, _divisors(release, plan))
            together = contrasts(let_through(release, plan, steps - values))
        grower.learn(trees, together, release.deviation)
        if notes is not None:
            damping = _damping(plan, release.hessians.shape[1])
            notes.learn(trees, steps, values, release, noise_of_hessians, damping)
        desk.add_to_scores(trees, values)
        rounds.append(BoostedTrees(trees, values))
    return BoostedTrees.stack(rounds)


def leaf_values(release: GradientRelease, plan: BoostingPlan) -> NDArray[np.float32]:
    """Newton steps, damped by the known noise, clipped, and averaged over the round's trees."""
    divisors = _divisors(release, plan)[:, :, None]
    steps = np.clip(-release.gradients / divisors, -LARGEST_STEP, LARGEST_STEP)
    steps *= plan.learning_rate / len(steps)
    return np.ascontiguousarray(steps.transpose(0, 2, 1), np.float32)


def _divisors(release: GradientRelease, plan: BoostingPlan) -> Values:
    hessians = np.maximum(release.hessians, 0.0)
    return np.asarray(hessians + _damping(plan, hessians.shape[1]))


def let_through(release: GradientRelease, plan: BoostingPlan, taken: NDArray[np.float32]) -> Values:
    """Gradients less what constraints took of their steps: to ask for it again would be no use."""
    size = _divisors(release, plan) * len(taken) / plan.learning_rate
    return np.asarray(release.gradients + size[:, :, None] * taken.transpose(0, 2, 1))


def _damping(plan: BoostingPlan, n_leaves: int) -> float:
    return plan.damping + plan.leaf_damping / n_leaves


def _centred(release: GradientRelease) -> GradientRelease:
    """Where the gradients of all outputs add up to 0, taking out their mean takes out noise."""
    n_outputs = release.gradients.shape[2]
    gradients = release.gradients - release.gradients.mean(axis=2, keepdims=True)
    deviation = release.deviation * float(np.sqrt(1.0 - 1.0 / n_outputs))
    return release._replace(gradients=gradients, deviation=deviation)


def _round_sizes(plan: BoostingPlan) -> Iterator[int]:
    left = plan.n_trees
    while left > 0:
        yield min(plan.trees_per_round, left)
        left -= plan.trees_per_round

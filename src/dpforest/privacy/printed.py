"""Verbs that follow the print of some papers, for research: none is private, and each says so."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.spends import Amount, Pure
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import TARGET_STEPS, LeafQuestion
from dpforest.privacy.mechanisms.additive import AdditiveNoise, finest_grid
from dpforest.privacy.mechanisms.splitting import Answer
from dpforest.privacy.median_splits import Bounds, answer_by_node
from dpforest.privacy.published import (
    COUNT_REASON,
    MEAN_REASON,
    SMOOTH_REASON,
    published_labels,
    published_means,
    published_splits,
)
from dpforest.privacy.published import REASONS as SPLIT_REASONS
from dpforest.privacy.published_greedy import FLAWS, REASONS, Flaw, selected_trees
from dpforest.privacy.tree_payments import pay_for_choices, pay_for_noise, whole
from dpforest.records.statistics import LeafClassCounts, LeafSums, RecordCount, TargetGrid
from dpforest.trees.level_grower import Published, SplitQuestion
from dpforest.trees.structure import Forest


def void_for(desk: Desk, flaws: Collection[Flaw]) -> None:
    """Write into the ledger what is wrong."""
    for flaw in FLAWS:
        if flaw in flaws:
            desk.ledger.void(REASONS[flaw])


def printed_count(desk: Desk) -> float:
    """The number of records as a paper reads it, for nothing: not private."""
    desk.ledger.void(COUNT_REASON)
    return float(desk.total(RecordCount())[0])


def printed_labels(desk: Desk, question: LeafQuestion) -> NDArray[np.int64]:
    """The class of every leaf by the printed mechanism: not private; see `published_labels`."""
    desk.ledger.void(SMOOTH_REASON)
    label = "labels of the leaves, as published"
    sampling = question.sampling
    pay_for_choices(
        desk, label, "smooth sensitivity", question.spans[-1], sampling, where=question.where
    )
    desk.draw_samples(sampling)
    totals = desk.total(LeafClassCounts(question.forest, question.n_classes, sampling.kind))
    per_tree = sampling.price_of_tree(question.spans[-1].price)
    return published_labels(totals, per_tree, desk.draws)


def printed_splits(
    desk: Desk,
    question: SplitQuestion,
    target: int | Bounds,
    choice: Published,
    span: Span,
    sampling: TreeSampling,
) -> Answer:
    """Splits as DiPriMe or the thesis prints them: not private."""
    for reason in SPLIT_REASONS[choice]:
        desk.ledger.void(reason)
    label = f"splits of its nodes, {choice}"
    epsilon = pay_for_choices(desk, label, "private choices", span, sampling, where="a level")
    return answer_by_node(
        desk, question, target, sampling, lambda s: published_splits(s, choice, epsilon, desk.draws)
    )


def printed_means(
    desk: Desk, forest: Forest, bounds: Bounds, epsilon: Amount, sampling: TreeSampling
) -> NDArray[np.float64]:
    """The mean of every leaf with the printed noise, range / (N epsilon): not private.

    See `dpforest.privacy.published`. Shape (n_leaves,), measured in the range of the target.
    """
    desk.ledger.void(MEAN_REASON)
    price = Pure(sampling.price_of_tree(epsilon))
    grid = TargetGrid(*bounds, finest_grid(price, 1, TARGET_STEPS))
    label, where = "means of the leaves, as published", f"leaves at depth {forest.max_depth}"
    pay_for_noise(desk, label, whole(epsilon), sampling, grid=grid.steps, where=where)
    noise = AdditiveNoise.for_price(price, l1=grid.steps, l2=float(grid.steps))
    desk.draw_samples(sampling)
    totals = desk.total(LeafSums(forest, grid, sampling.kind))
    return published_means(totals, desk.draws.add_noise(noise, totals[:, 1]) / grid.steps)


def bootstrap(
    desk: Desk,
    sampling: TreeSampling,
    known: tuple[Forest, NDArray[np.float64]] | None = None,
) -> None:
    """Let each tree draw records with replacement: not private."""
    void_for(desk, {"misclassified_weights" if known else "bootstrap"})
    desk._store.bootstrap(sampling.n_trees, desk.draws.below, known)
    desk._sampled = sampling


def printed_selection(desk: Desk, forest: Forest, votes: NDArray[np.float64]) -> NDArray[np.int64]:
    """The trees that selective aggregation keeps, by their exact errors: not private."""
    void_for(desk, {"selective_aggregation"})
    return selected_trees(desk.total, forest, votes)

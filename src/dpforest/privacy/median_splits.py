"""Splits of median trees: chosen by balance and by error, level by level."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpforest.privacy.accounts.mechanisms_used import Selection
from dpforest.privacy.accounts.spends import Spend
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import TARGET_STEPS
from dpforest.privacy.mechanisms.quantiles import quantile_cells
from dpforest.privacy.mechanisms.splitting import Answer, NodeSplits, choose_splits
from dpforest.privacy.tree_payments import pay_for_choices
from dpforest.records.statistics import NodeHistograms, TargetCounts, TargetGrid
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import SplitChoice, SplitQuestion

Bounds = tuple[float, float]
TARGET_CELLS = 1024  # of the range of a target: where its quartiles are looked for
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
HISTOGRAM_CELLS = 1 << 24  # totalled together; a level with more takes several passes


def middle_of_target(desk: Desk, bounds: Bounds, epsilon: Fraction) -> Bounds:
    """The range in which about the middle half of the targets lies.

    The outer edges of the cells of two private quartiles, on an even grid of the public
    bounds; `mechanisms.quantiles` proves what they cost. The bounds themselves where numbers of
    double precision do not tell the edges apart.
    """
    mechanism = "exponential mechanism"
    made = Selection(mechanism, epsilon / desk.steps, desk.steps)
    desk.ledger.debit(Spend.of("quartiles of the target", mechanism, made))
    low, high = bounds
    first, last = quantile_cells(
        desk.total(TargetCounts(low, high, TARGET_CELLS)),
        QUARTILES,
        epsilon=epsilon,
        draws=desk.draws,
        steps=desk.steps,
    )
    width = (high - low) / TARGET_CELLS
    edges = low + width * float(first), low + width * float(last + 1)
    return edges if edges[0] < edges[1] else bounds


def choose_median_splits(
    desk: Desk,
    question: SplitQuestion,
    target: int | Bounds,
    choice: SplitChoice,
    span: Span,
    sampling: TreeSampling,
) -> Answer:
    """A candidate and an option for every node of a level, chosen by balance and by error.

    `mechanisms.splitting` proves that the choices of a node cost its epsilon. The nodes of a level
    of a tree share no record, so they cost no more together; `TreeSampling` says what trees cost
    together. ``target`` is the number of classes, or bounds to which targets are clipped.

    Returns
    -------
    candidate, option : ndarray of int64, shape (n_nodes,)
    """
    label = f"splits of its nodes, {choice}"
    epsilon = pay_for_choices(desk, label, "private choices", span, sampling, where="a level")
    return answer_by_node(
        desk, question, target, sampling, lambda s: choose_splits(s, choice, epsilon, desk.draws)
    )


def answer_by_node(
    desk: Desk,
    question: SplitQuestion,
    target: int | Bounds,
    sampling: TreeSampling,
    choose: Callable[[NodeSplits], Answer],
) -> Answer:
    """Let the nodes of a level choose, some at a time; the level is paid for."""
    desk.draw_samples(sampling)
    grid = target if isinstance(target, int) else TargetGrid(*target, TARGET_STEPS)
    steps = 0 if isinstance(grid, int) else grid.steps
    answers = []
    for rows in nodes_at_a_time(question, 2 if steps else int(target)):  # type: ignore[arg-type]
        histograms = desk.total(node_histograms(question, rows, grid, sampling))
        answers.append(choose(NodeSplits.of(histograms, question, rows, steps)))
    candidates, options = zip(*answers, strict=True)
    return np.concatenate(candidates), np.concatenate(options)


def node_histograms(
    question: SplitQuestion | AttributeQuestion,
    rows: slice,
    target: int | TargetGrid,
    sampling: TreeSampling,
) -> NodeHistograms:
    """The statistic behind the choices of some nodes."""
    leaves = range(rows.start, rows.stop)
    return NodeHistograms(
        question.forest, question.features, question.n_bins, leaves, target, sampling.kind
    )


def nodes_at_a_time(question: SplitQuestion | AttributeQuestion, numbers: int) -> list[slice]:
    """Runs of nodes whose histograms, so many numbers a bin, fit into memory together."""
    n_nodes, n_candidates = question.features.shape
    size = max(1, HISTOGRAM_CELLS // (n_candidates * question.n_bins * numbers))
    return [slice(start, min(start + size, n_nodes)) for start in range(0, n_nodes, size)]

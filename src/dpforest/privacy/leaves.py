"""What leaves release: noisy class counts, labels, or sums of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Amount, Pure
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.tree_payments import noise_within, pay_for_choices, pay_for_noise, whole
from dpforest.records.statistics import LeafClassCounts, LeafSums, TargetGrid
from dpforest.trees.structure import Forest

TARGET_STEPS = 4096  # of the range of a target: as good as continuous


class LeafRelease(NamedTuple):
    """What every leaf released, shape (n_leaves, ...), and the deviation of its noise, (n_leaves,).

    Labels carry no noise: their deviations are 0.
    """

    values: NDArray[np.float64]
    deviations: NDArray[np.float64]


@dataclass(frozen=True)
class LeafQuestion:
    """The leaves of a forest, each with what it may spend.

    Parameters
    ----------
    forest : Forest
    n_classes : int
    level : ndarray of int64, shape (n_leaves,)
        Which of the spans is that of a leaf.
    spans : list of Span
        What a leaf of each level may spend.
    debits : list of Span
        What the ledger is told. With the choices debited before, they cover what the dearest way
        spends: all spans, one a level; or that of the longest way, where every leaf has what its
        way left.
    sampling : TreeSampling
    """

    forest: Forest
    n_classes: int
    level: NDArray[np.int64]
    spans: list[Span]
    debits: list[Span]
    sampling: TreeSampling

    @classmethod
    def alike(
        cls, forest: Forest, n_classes: int, epsilon: Amount, sampling: TreeSampling
    ) -> LeafQuestion:
        """All leaves alike: each tree has spent nothing, and spends its part of epsilon now."""
        level, spans = np.zeros(forest.n_leaves, np.int64), [whole(epsilon)]
        return cls(forest, n_classes, level, spans, spans, sampling)

    @property
    def where(self) -> str:
        """What the ledger calls it."""
        if len(self.spans) == 1:
            return f"leaves at depth {self.forest.max_depth}"
        if len(self.debits) == 1:
            return "leaves, each with what its way left"
        return "leaves of a level"


def leaf_counts(desk: Desk, question: LeafQuestion) -> LeafRelease:
    """Noisy class counts of every leaf of a forest whose structure is public or was released.

    A record adds 1 to one cell of each tree that sees it; `TreeSampling` says what the trees cost
    together. Discrete Laplace noise, in each leaf for what its span gives it.
    """
    sampling, label = question.sampling, "class counts of the leaves"
    noises = [noise_within(desk, span, sampling) for span in question.spans]
    for span in question.debits:
        pay_for_noise(desk, label, span, sampling, where=question.where)
    totals = _class_totals(desk, question)
    deviations = np.zeros(len(totals))
    for level, noise in enumerate(noises):
        here = question.level == level
        if here.any():
            totals[here] = desk.draws.add_noise(noise, totals[here])
            deviations[here] = noise.deviation
    return LeafRelease(totals.astype(np.float64), deviations)


def leaf_labels(desk: Desk, question: LeafQuestion, *, monotone: bool = True) -> LeafRelease:
    """The class of every leaf by permute-and-flip among the class counts, as a row of 0 and 1.

    A record raises one class count of one leaf of each tree that sees it, by 1 and never down: a
    monotone utility of sensitivity 1, so the leaf's choice at weight exp(epsilon * count) costs
    epsilon, and the leaves of a tree, which hold disjoint records, cost no more together. Choices
    that do not count on it (``monotone=False``) cost no more and tell less.
    """
    sampling = question.sampling
    label = "labels of the leaves"
    for span in question.debits:
        pay_for_choices(desk, label, "permute-and-flip", span, sampling, where=question.where)
    totals = _class_totals(desk, question)
    labels = np.zeros(len(totals), np.int64)
    for level, span in enumerate(question.spans):
        here = question.level == level
        if here.any():
            labels[here] = desk.draws.permute_and_flip(
                totals[here],
                epsilon=sampling.within_span(span, desk.steps),
                sensitivity=1,
                monotone=monotone,
            )
    return LeafRelease(np.eye(question.n_classes)[labels], np.zeros(len(totals)))


def leaf_target_sums(
    desk: Desk,
    forest: Forest,
    bounds: tuple[float, float],
    epsilon: Amount,
    sampling: TreeSampling,
) -> LeafRelease:
    """Noisy sums, in every leaf, of how far targets lie below and above their bounds.

    Measured in the range of the target, a record adds 1 - t and t with 0 <= t <= 1 to one
    leaf of each tree that sees it: L1 sensitivity 1 for both together. Their sum is a noisy
    number of records, so a mean needs no further budget. On the integer grid the two add up
    to the number of its steps.

    Returns
    -------
    LeafRelease
        Values of shape (n_leaves, 2): how far below the upper bound, and above the lower one.
    """
    span = whole(epsilon)
    within = Pure(sampling.within_span(span, desk.steps))
    grid = TargetGrid(*bounds, finest_grid(within, 1, TARGET_STEPS))
    label, where = "sums of the target in the leaves", f"leaves at depth {forest.max_depth}"
    noise = pay_for_noise(desk, label, span, sampling, grid=grid.steps, where=where)
    desk.draw_samples(sampling)
    totals = desk.total(LeafSums(forest, grid, sampling.kind))
    both = np.column_stack([grid.steps * totals[:, 0] - totals[:, 1], totals[:, 1]])
    deviations = np.full(len(both), noise.deviation / grid.steps)
    return LeafRelease(desk.draws.add_noise(noise, both) / grid.steps, deviations)


def _class_totals(desk: Desk, question: LeafQuestion) -> NDArray[np.int64]:
    desk.draw_samples(question.sampling)
    return desk.total(LeafClassCounts(question.forest, question.n_classes, question.sampling.kind))

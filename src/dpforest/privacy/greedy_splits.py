"""Splits of greedy trees: an attribute for each node, or to stop; and counts of nodes."""

from __future__ import annotations

import numpy as np

from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk, Released
from dpforest.privacy.mechanisms.greedy_choices import Rule as Rule
from dpforest.privacy.mechanisms.greedy_choices import Selection as Selection
from dpforest.privacy.mechanisms.greedy_choices import choose
from dpforest.privacy.mechanisms.scores import ScoreName as ScoreName
from dpforest.privacy.mechanisms.splitting import Answer
from dpforest.privacy.median_splits import node_histograms, nodes_at_a_time
from dpforest.privacy.tree_payments import pay_for_choices, pay_for_noise
from dpforest.records.statistics import LeafClassCounts
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import SplitQuestion


def choose_attributes(
    desk: Desk,
    question: AttributeQuestion | SplitQuestion,
    n_classes: int,
    rule: Rule,
    span: Span,
    sampling: TreeSampling,
) -> Answer:
    """A candidate (and, for two children, an option) for every node of a level; -1: stop.

    The choice of a node costs what the rule is given. The nodes of a level of a tree share no
    record, so they cost no more together; `TreeSampling` says what trees cost together.

    Returns
    -------
    candidate, option : ndarray of int64, shape (n_nodes,)
    """
    label = "choices of its nodes"
    epsilon = pay_for_choices(desk, label, rule.selection, span, sampling, where="a level")
    desk.draw_samples(sampling)
    candidates, options = [], []
    for rows in nodes_at_a_time(question, n_classes):
        histograms = desk.total(node_histograms(question, rows, n_classes, sampling))
        chosen, n_options = choose(histograms, question, rows, rule, epsilon, desk.draws)
        candidate, option = np.divmod(chosen, n_options)
        candidates.append(np.where(chosen < 0, -1, candidate))
        options.append(option)
    return np.concatenate(candidates), np.concatenate(options)


def node_counts(
    desk: Desk,
    question: AttributeQuestion | SplitQuestion,
    n_classes: int,
    span: Span,
    sampling: TreeSampling,
) -> Released:
    """The noisy number of records in every node of a level.

    A record is in one node of a level of a tree, and changes its count by 1.
    """
    noise = pay_for_noise(desk, "counts of its nodes", span, sampling, where="a level")
    desk.draw_samples(sampling)
    totals = desk.total(LeafClassCounts(question.forest, n_classes, sampling.kind))
    nodes = totals[: len(question.features)].sum(axis=1)
    return Released(desk.draws.add_noise(noise, nodes).astype(np.float64), noise.deviation)

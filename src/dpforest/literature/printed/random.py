"""Random decision forests as Fletcher and Islam print them (2015, 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpforest.arrays import Values
from dpforest.forests.random import RandomDecisionForestClassifier
from dpforest.literature.printed.mechanisms import COUNT_REASON, SMOOTH_REASON, smooth_labels
from dpforest.literature.printed.warning import follow_the_print
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import LeafQuestion
from dpforest.privacy.tree_payments import pay_for_choices
from dpforest.records.statistics import LeafClassCounts, RecordCount
from dpforest.trees.rules import random_depth, snr_trees


class SmoothLabelForest(RandomDecisionForestClassifier):
    """Fletcher and Islam (2017): labels of leaves by smooth sensitivity, on disjoint records."""

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.leaves != "label" or self.sampling != "disjoint":
            raise ValueError("this print has leaves='label' and sampling='disjoint': set them")

    def _release(self, desk: Desk) -> Values:
        follow_the_print(desk, [SMOOTH_REASON])
        n_classes, n_trees = len(self.classes_), self.forest_.n_trees
        sampling = TreeSampling("disjoint", n_trees)
        epsilon = desk.ledger.unspent_epsilon
        question = LeafQuestion.alike(self.forest_, n_classes, epsilon, sampling)
        label, mechanism = "labels of the leaves, as published", "smooth sensitivity"
        (span,) = question.spans
        pay_for_choices(desk, label, mechanism, span, sampling, where=question.where)
        desk.draw_samples(sampling)
        totals = desk.total(LeafClassCounts(self.forest_, n_classes, sampling.kind))
        per_tree = sampling.price_of_tree(epsilon)
        return np.asarray(np.eye(n_classes)[smooth_labels(totals, per_tree, desk.draws)])


class SnrForest(RandomDecisionForestClassifier):
    """Fletcher and Islam (2015): the number of trees follows from the number of records."""

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.pruning != "snr" or self.n_estimators != "auto" or self.n_hint is not None:
            raise ValueError(
                "this print has pruning='snr', n_estimators='auto' and no n_hint: set them"
            )
        if self.neighbors == "replace_one":
            raise ValueError(
                "with neighbors='replace_one' the number of records is public, and pruning='snr' "
                "holds as printed: take variant='repaired'"
            )

    def _plan(self, desk: Desk) -> tuple[int, int]:
        follow_the_print(desk, [COUNT_REASON])
        n_records = float(desk.total(RecordCount())[0])
        epsilon, depth = float(self.epsilon), self.max_depth
        mean_bins = float(self.encoding_.n_values.mean())
        shape = self.n_features_in_, len(self.classes_), mean_bins
        n_trees = int(snr_trees(n_records, *shape, epsilon))
        if depth == "auto":
            depth = random_depth(self.n_features_in_, n_records, epsilon / n_trees)
        return n_trees, int(depth)

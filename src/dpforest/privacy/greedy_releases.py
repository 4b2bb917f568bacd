"""Releases of greedy trees: attributes of nodes, their counts, and leaves with what is left.

The part of the curator that grows greedy forests. Every verb is told how much of epsilon was spent
before it and after it (a `Span`): where trees draw samples, prices do not simply add up.
``docs/privacy/greedy.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import selection
from dpforest.privacy.additive import AdditiveNoise
from dpforest.privacy.greedy_choices import Rule, choose
from dpforest.privacy.published_greedy import FLAWS, REASONS, Flaw, selected_trees
from dpforest.privacy.spends import Amount, Branch, Pure, Spend
from dpforest.privacy.splitting import Answer
from dpforest.privacy.tree_releases import TreeReleases, nodes_at_a_time
from dpforest.privacy.tree_sampling import TreeSampling
from dpforest.records.statistics import LeafClassCounts, NodeHistograms
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import SplitQuestion
from dpforest.trees.structure import Forest


class Span(NamedTuple):
    """What the forest has spent of epsilon before a release, and after it."""

    before: Amount
    after: Amount

    @property
    def price(self) -> Amount:
        """What the release costs."""
        return self.after if math.isinf(self.after) else self.after - self.before


@dataclass(frozen=True)
class LeafQuestion:
    """The leaves of a forest, each with what its way has left.

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
    printed : bool
        Choose labels at the rate of eDPRF's print, epsilon / 2, half of what counts allow.
    """

    forest: Forest
    n_classes: int
    level: NDArray[np.int64]
    spans: list[Span]
    debits: list[Span]
    sampling: TreeSampling
    printed: bool = False


class GreedyReleases(TreeReleases):
    """The verbs of a curator that concern greedy trees; not to be used by itself."""

    def choose_attributes(
        self,
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
        epsilon = self._pay("choices of its nodes", rule.selection, "a level", span, sampling)
        self._void_for(rule.flaws)
        candidates, options = [], []
        for rows in nodes_at_a_time(question, n_classes):
            histograms = self._store.total(
                NodeHistograms(
                    question.forest,
                    question.features,
                    question.n_bins,
                    range(rows.start, rows.stop),
                    n_classes,
                    sampling.kind,
                )
            )
            chosen, n_options = choose(histograms, question, rows, rule, epsilon, self._bits)
            candidate, option = np.divmod(chosen, n_options)
            candidates.append(np.where(chosen < 0, -1, candidate))
            options.append(option)
        return np.concatenate(candidates), np.concatenate(options)

    def node_counts(
        self,
        question: AttributeQuestion | SplitQuestion,
        n_classes: int,
        span: Span,
        sampling: TreeSampling,
    ) -> tuple[NDArray[np.int64], float]:
        """The noisy number of records in every node of a level, and the deviation of the noise.

        A record is in one node of a level of a tree, and changes its count by 1.
        """
        noise = self._noise(span, sampling)
        self._pay("counts of its nodes", noise.mechanism(1), "a level", span, sampling)
        totals = self._store.total(LeafClassCounts(question.forest, n_classes, sampling.kind))
        nodes = totals[: len(question.features)].sum(axis=1)
        return noise.added_to(nodes, self._bits), noise.deviation

    def aligned_leaf_labels(self, question: LeafQuestion) -> NDArray[np.int64]:
        """The class of every leaf by permute-and-flip, each with what its span gives it.

        Class counts are monotone, of sensitivity 1.
        """
        mechanisms = ["permute-and-flip"] * len(question.debits)
        totals = self._leaf_class_totals(question, mechanisms)
        labels = np.zeros(len(totals), np.int64)
        for level, span in enumerate(question.spans):
            here = question.level == level
            if here.any():
                labels[here] = selection.permute_and_flip(
                    totals[here],
                    epsilon=self._within(span, question.sampling),
                    sensitivity=1,
                    monotone=not question.printed,
                    bits=self._bits,
                )
        return labels

    def aligned_leaf_counts(self, question: LeafQuestion) -> NDArray[np.int64]:
        """Noisy class counts of every leaf, each with what its span gives it.

        A record changes one count of its leaf by 1.
        """
        noises = [self._noise(span, question.sampling) for span in question.spans]
        debited = [self._noise(span, question.sampling).mechanism(1) for span in question.debits]
        totals = self._leaf_class_totals(question, debited)
        for level, noise in enumerate(noises):
            here = question.level == level
            if here.any():
                totals[here] = noise.added_to(totals[here], self._bits)
        return totals

    def draw_samples(self, sampling: TreeSampling) -> None:
        """Let every tree see its records; releases nothing."""
        if sampling.kind == "disjoint":
            self._deal(sampling.n_trees)
        elif sampling.kind == "without_replacement":
            self._store.sample(sampling.n_trees, sampling.share, self._bits.uniform_below)
        elif sampling.kind == "bootstrap":
            self._void_for({"bootstrap"})
            self._store.bootstrap(sampling.n_trees, self._bits.uniform_below)

    def draw_harder_samples(
        self, sampling: TreeSampling, forest: Forest, votes: NDArray[np.float64]
    ) -> None:
        """Samples in which a record that released trees classify well comes half as often.

        Whether it does depends on the record and on what was released, on no other record; its
        chance to be in a sample is at most the share that the price is told of. A bootstrap sample
        weighs records against each other: not private.
        """
        if sampling.kind == "bootstrap":
            self._void_for({"misclassified_weights"})
            self._store.bootstrap(sampling.n_trees, self._bits.uniform_below, (forest, votes))
            return
        self._store.sample(
            sampling.n_trees, sampling.share, self._bits.uniform_below, (forest, votes)
        )

    def published_selection(self, forest: Forest, votes: NDArray[np.float64]) -> NDArray[np.int64]:
        """The trees that selective aggregation keeps, by their exact errors: not private."""
        self._void_for({"selective_aggregation"})
        return selected_trees(self._store, forest, votes)

    def _void_for(self, flaws: Collection[Flaw]) -> None:
        for flaw in FLAWS:
            if flaw in flaws:
                self.ledger.void(REASONS[flaw])

    def _within(self, span: Span, sampling: TreeSampling) -> Amount:
        """What a tree may spend on its records for a span of the forest's epsilon."""
        steps = self.ledger.protection.steps
        after = sampling.within_tree(span.after, steps)
        return after if math.isinf(after) else after - sampling.within_tree(span.before, steps)

    def _noise(self, span: Span, sampling: TreeSampling) -> AdditiveNoise:
        """Noise for counts that a record of a tree changes by 1 in all."""
        return AdditiveNoise.for_price(Pure(self._within(span, sampling)), l1=1, l2=1.0)

    def _pay(
        self, label: str, mechanism: str, where: str, span: Span, sampling: TreeSampling
    ) -> Amount:
        """Debit a release of every tree; what a tree may spend on its records, a step."""
        spend = Spend(label, mechanism, Pure(sampling.price_of_tree(span.price)))
        rule: Literal["parallel", "sequential"] = (
            "parallel" if sampling.kind == "disjoint" else "sequential"
        )
        trees = f"{sampling.n_trees} trees, {sampling.kind.replace('_', ' ')} records"
        branch = Branch(trees, rule, (spend,), times=sampling.n_trees)
        self.ledger.debit(Branch(where, "sequential", (branch,)))
        return self._within(span, sampling)

    def _leaf_class_totals(
        self, question: LeafQuestion, mechanisms: list[str]
    ) -> NDArray[np.int64]:
        """Debit the leaves, then total their classes."""
        label = "each leaf of its level" if mechanisms[1:] else "each leaf, with what its way left"
        for mechanism, span in zip(mechanisms, question.debits, strict=True):
            self._pay(label, mechanism, "leaves", span, question.sampling)
        statistic = LeafClassCounts(question.forest, question.n_classes, question.sampling.kind)
        return self._store.total(statistic)

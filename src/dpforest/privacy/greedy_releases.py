"""Releases of greedy trees: attributes of nodes, their counts, and leaves with what is left.

The part of the curator that grows greedy forests. Every verb is told how much of epsilon was spent
before it and after it (a `Span`): where trees draw samples, prices do not simply add up.
``docs/privacy/greedy.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import selection
from dpforest.privacy.additive import AdditiveNoise
from dpforest.privacy.published_greedy import (
    FLAWS,
    REASONS,
    are_pure,
    gain_ratio_utilities,
    selected_trees,
)
from dpforest.privacy.published_greedy import Flaw as Flaw
from dpforest.privacy.randomness import RandomBits
from dpforest.privacy.scores import Score, score_of
from dpforest.privacy.scores import ScoreName as ScoreName
from dpforest.privacy.spends import Amount, Branch, Pure, Spend
from dpforest.privacy.splitting import NO_CANDIDATE, Answer, Integers, NodeSplits
from dpforest.privacy.tree_releases import TreeReleases, nodes_at_a_time
from dpforest.privacy.tree_sampling import TreeSampling
from dpforest.records.statistics import LeafClassCounts, NodeHistograms
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import SplitQuestion
from dpforest.trees.structure import Forest

CHOICE_FLAWS: frozenset[Flaw] = frozenset({"pure_stop", "gain_ratio"})
Selection = Literal["permute_and_flip", "exponential"]


class Span(NamedTuple):
    """What the forest has spent of epsilon before a release, and after it."""

    before: Amount
    after: Amount

    @property
    def price(self) -> Amount:
        """What the release costs."""
        return self.after if math.isinf(self.after) else self.after - self.before


@dataclass(frozen=True)
class Rule:
    """How nodes choose.

    Parameters
    ----------
    score : Score
        The utility of a split is the sum of the scores of its children.
    selection : {"permute_and_flip", "exponential"}
    cost : Fraction, optional
        "Stop here" is a candidate, with the score of the node as its own only child; a split pays
        this many sensitivities for each child but one. A public constant changes neither the
        sensitivity of a utility nor whether it is monotone. None: nodes do not stop.
    flaws : frozenset of str
        Of the printed flaws those of choices, to be followed: not private.
    """

    score: Score
    selection: Selection
    cost: Fraction | None = None
    flaws: frozenset[Flaw] = frozenset()

    @classmethod
    def of(
        cls,
        criterion: ScoreName,
        n_bound: int,
        selection: Selection,
        cost: Fraction | None,
        flaws: Collection[Flaw] = (),
    ) -> Rule:
        """The rule of a criterion; see `dpforest.privacy.scores.score_of`."""
        score = score_of(criterion, n_bound)
        if "gain_ratio" in flaws:
            score = replace(score, monotone=False)
        return cls(score, selection, cost, frozenset(flaws) & CHOICE_FLAWS)

    def choose(self, utilities: Integers, epsilon: Amount, bits: RandomBits) -> Integers:
        """One candidate a row, for epsilon a row."""
        mechanism = (
            selection.permute_and_flip
            if self.selection == "permute_and_flip"
            else selection.exponential_mechanism
        )
        return mechanism(
            utilities,
            epsilon=epsilon,
            sensitivity=self.score.sensitivity,
            monotone=self.score.monotone,
            bits=bits,
        )


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
            if isinstance(question, SplitQuestion):
                splits = NodeSplits.of(histograms, question, rows, steps=0)
                utilities, stop = _of_two_children(splits, rule)
            else:
                utilities, stop = _of_all_children(histograms, question, rows, rule)
            chosen = _choose(utilities, stop, rule, epsilon, self._bits)
            if "pure_stop" in rule.flaws:
                chosen[are_pure(histograms)] = -1
            candidate, option = np.divmod(chosen, utilities.shape[2])
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

    def aligned_leaf_labels(
        self,
        forest: Forest,
        n_classes: int,
        leaf_spent: NDArray[np.int64],
        spans: list[Span],
        sampling: TreeSampling,
    ) -> NDArray[np.int64]:
        """The class of every leaf by permute-and-flip, each with what its way has left.

        Class counts are monotone, of sensitivity 1. ``spans[leaf_spent[i]]`` is from what the way
        to leaf i has spent to the whole of epsilon; the last is that of the longest way, which the
        ledger has debited so far.
        """
        totals = self._leaf_class_totals(forest, n_classes, "permute-and-flip", spans[-1], sampling)
        labels = np.zeros(len(totals), np.int64)
        for level, span in enumerate(spans):
            here = leaf_spent == level
            if here.any():
                labels[here] = selection.permute_and_flip(
                    totals[here],
                    epsilon=self._within(span, sampling),
                    sensitivity=1,
                    monotone=True,
                    bits=self._bits,
                )
        return labels

    def aligned_leaf_counts(
        self,
        forest: Forest,
        n_classes: int,
        leaf_spent: NDArray[np.int64],
        spans: list[Span],
        sampling: TreeSampling,
    ) -> NDArray[np.int64]:
        """Noisy class counts of every leaf, each with what its way has left.

        A record changes one count of its leaf by 1; see `aligned_leaf_labels`.
        """
        noises = [self._noise(span, sampling) for span in spans]
        totals = self._leaf_class_totals(
            forest, n_classes, noises[-1].mechanism(1), spans[-1], sampling
        )
        for level, noise in enumerate(noises):
            here = leaf_spent == level
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
        self, forest: Forest, n_classes: int, mechanism: str, span: Span, sampling: TreeSampling
    ) -> NDArray[np.int64]:
        self._pay("each leaf, with what its way left", mechanism, "leaves", span, sampling)
        return self._store.total(LeafClassCounts(forest, n_classes, sampling.kind))


def _of_all_children(
    histograms: Integers, question: AttributeQuestion, rows: slice, rule: Rule
) -> tuple[Integers, Integers]:
    """The utilities of all attributes of some nodes, (nodes, candidates, 1), and of stopping."""
    features = question.features[rows]
    if "gain_ratio" in rule.flaws:
        utilities = gain_ratio_utilities(histograms)
    else:
        utilities = rule.score.of_children(histograms).sum(axis=2)
    utilities = utilities - _costs(rule, question.bins.n_bins[features])
    utilities = np.where(features >= 0, utilities, NO_CANDIDATE)
    # All candidates of a node tell the same records apart; the first is always one.
    stop = rule.score.of_children(histograms[:, 0].sum(axis=1))
    return utilities[..., np.newaxis], stop


def _of_two_children(splits: NodeSplits, rule: Rule) -> tuple[Integers, Integers]:
    """The utilities of all cuts of some nodes, (nodes, candidates, options), and of stopping."""
    utilities = rule.score.of_children(splits.left)
    utilities += rule.score.of_children(splits.total - splits.left)
    utilities -= _costs(rule, np.array(2))
    utilities = np.where(splits.weights > 0, utilities, NO_CANDIDATE)
    return utilities, rule.score.of_children(splits.total[:, 0, 0])


def _costs(rule: Rule, n_children: Integers) -> Integers:
    if rule.cost is None:
        return np.zeros_like(n_children)
    per_child = round(rule.cost * rule.score.sensitivity)
    return np.asarray((n_children - 1) * per_child)


def _choose(
    utilities: Integers, stop: Integers, rule: Rule, epsilon: Amount, bits: RandomBits
) -> Integers:
    """The number of the chosen candidate and option of every node; -1 to stop."""
    flat = utilities.reshape(len(utilities), -1)
    if rule.cost is None:
        return rule.choose(flat, epsilon, bits)
    return rule.choose(np.column_stack([stop, flat]), epsilon, bits) - 1

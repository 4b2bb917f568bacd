"""Growing greedy trees: one level after another, each paid for, and then their leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.greedy_splits import choose_attributes, node_counts
from dpforest.privacy.leaves import LeafQuestion, leaf_counts, leaf_labels
from dpforest.privacy.mechanisms.greedy_choices import Rule
from dpforest.trees.attribute_grower import AttributeGrower, AttributeQuestion
from dpforest.trees.level_budgets import LevelShares
from dpforest.trees.level_grower import LevelGrower, SplitQuestion
from dpforest.trees.structure import Forest

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Phase:
    """Trees that are grown together, and what they may spend.

    Parameters
    ----------
    desk : Desk
    n_classes : int
    epsilon : Amount
        What these trees cost.
    shares : LevelShares
        How it is spread over the levels.
    sampling : TreeSampling
        Which records the trees see.
    rule : Rule
        How nodes choose.
    align : bool
        Whether a leaf has all that its way left, or what the longest way left.
    leaves : {"label", "counts"}
    """

    desk: Desk
    n_classes: int
    epsilon: Amount
    shares: LevelShares
    sampling: TreeSampling
    rule: Rule
    align: bool
    leaves: Literal["label", "counts"]

    def grow(self, grower: AttributeGrower | LevelGrower) -> tuple[Forest, Values]:
        """The trees, and what their leaves release, shape (n_leaves, n_classes)."""
        levels = 0
        while levels < len(self.shares.choices) and (question := grower.ask()) is not None:
            stops = self._stops(question, levels)
            candidate, option = choose_attributes(
                self.desk,
                question,
                self.n_classes,
                self.rule,
                self._span_of_choices(levels),
                self.sampling,
            )
            grower.answer(np.where(stops, -1, candidate), option)
            levels += 1
        forest = grower.finish()
        longest = np.full(forest.n_leaves, levels)
        spent = grower.leaf_choices if self.align else longest
        return forest, self._release_leaves(forest, spent, levels)

    def _stops(self, question: AttributeQuestion | SplitQuestion, level: int) -> NDArray[np.bool_]:
        """Nodes whose released count does not stand out of its noise, where counts are paid for."""
        if not self.shares.has_counts:
            return np.zeros(len(question.features), np.bool_)
        start = self.shares.spent_after(level)
        counts, deviation = node_counts(
            self.desk,
            question,
            self.n_classes,
            self._span(start, start + self.shares.counts[level]),
            self.sampling,
        )
        return np.asarray(counts < deviation)

    def _release_leaves(self, forest: Forest, spent: NDArray[np.int64], levels: int) -> Values:
        ends = [self.shares.spent_after(level) for level in range(levels + 1)]
        spans = [self._span(end, Fraction(1)) for end in ends]
        question = LeafQuestion(forest, self.n_classes, spent, spans, self.sampling)
        release = leaf_labels if self.leaves == "label" else leaf_counts
        return release(self.desk, question).values

    def _span_of_choices(self, level: int) -> Span:
        after = self.shares.spent_after(level + 1)
        return self._span(after - self.shares.choices[level], after)

    def _span(self, before: Fraction, after: Fraction) -> Span:
        if math.isinf(self.epsilon):
            return Span(Fraction(0), self.epsilon)
        return Span(before * Fraction(self.epsilon), after * Fraction(self.epsilon))

"""Growing greedy trees: one level after another, each paid for, and then their leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.greedy_splits import Rule, choose_attributes, node_counts
from dpforest.privacy.leaves import LeafQuestion, LeafRelease, leaf_counts, leaf_labels
from dpforest.trees.attribute_grower import AttributeGrower, AttributeQuestion
from dpforest.trees.level_budgets import LevelShares
from dpforest.trees.level_grower import LevelGrower, SplitQuestion
from dpforest.trees.structure import Forest


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
    stop_on_counts : bool
        Whether a node stops when its noisy count does not stand out of the noise. The shares of
        counts of the levels above the last pay for that; otherwise for leaves of these levels.
    align : bool
        Whether a leaf has all that its way left, or no more than its level gives, or (where levels
        give nothing to leaves) the longest way left.
    leaves : {"label", "counts"}
    """

    desk: Desk
    n_classes: int
    epsilon: Amount
    shares: LevelShares
    sampling: TreeSampling
    rule: Rule
    stop_on_counts: bool
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
        return forest, self._release_leaves(forest, grower.leaf_choices, levels)

    def _stops(self, question: AttributeQuestion | SplitQuestion, level: int) -> NDArray[np.bool_]:
        """Nodes whose released count does not stand out of its noise, where that is the rule."""
        if not self.stop_on_counts:
            return np.zeros(len(question.features), np.bool_)
        counts, deviation = node_counts(
            self.desk, question, self.n_classes, self._span_of_counts(level), self.sampling
        )
        return np.asarray(counts < deviation)

    def _release_leaves(self, forest: Forest, choices: NDArray[np.int64], levels: int) -> Values:
        """Release leaves after so many choices each, and at most so many levels of them."""
        rest = self._span(self._spent_after(levels), Fraction(1))
        if self.align:
            before = [self._spent_after(level) for level in range(levels)]
            spans, debits = [*(self._span(spent, Fraction(1)) for spent in before), rest], [rest]
        elif self._leaves_have_levels:
            spans = debits = [*map(self._span_of_counts, range(levels)), rest]
        else:  # all leaves alike
            spans, debits, choices = [rest], [rest], np.zeros_like(choices)
        question = LeafQuestion(forest, self.n_classes, choices, spans, debits, self.sampling)
        if self.leaves == "label":
            return self._labels(question).values
        return leaf_counts(self.desk, question).values

    def _labels(self, question: LeafQuestion) -> LeafRelease:
        return leaf_labels(self.desk, question)

    @property
    def _leaves_have_levels(self) -> bool:
        return self.shares.has_counts and not self.stop_on_counts and not self.align

    def _spent_after(self, n_levels: int) -> Fraction:
        """What lies before a level: choices, and counts where levels spend their share of them."""
        if self.stop_on_counts or self._leaves_have_levels:
            return self.shares.spent_after(n_levels)
        return sum(self.shares.choices[:n_levels], Fraction(0))

    def _span_of_counts(self, level: int) -> Span:
        before = self._spent_after(level)
        return self._span(before, before + self.shares.counts[level])

    def _span_of_choices(self, level: int) -> Span:
        after = self._spent_after(level + 1)
        return self._span(after - self.shares.choices[level], after)

    def _span(self, before: Fraction, after: Fraction) -> Span:
        if math.isinf(self.epsilon):
            return Span(Fraction(0), self.epsilon)
        return Span(before * Fraction(self.epsilon), after * Fraction(self.epsilon))

"""Greedy forests as some papers print them: one or several flaws, by their names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpforest.arrays import Integers, Values
from dpforest.forests.declared import parameter
from dpforest.forests.greedy import GreedyForestClassifier
from dpforest.forests.greedy_phase import Phase
from dpforest.literature.printed.bootstrap import draw_bootstrap_samples
from dpforest.literature.printed.flaws import (
    REASONS,
    Flaw,
    are_pure,
    check_flaws,
    gain_ratio_utilities,
    selected_trees,
)
from dpforest.literature.printed.warning import follow_the_print
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import LeafQuestion, LeafRelease, leaf_labels
from dpforest.privacy.mechanisms.greedy_choices import Rule
from dpforest.trees.ensembles import keep_trees
from dpforest.trees.structure import Forest


@dataclass(frozen=True)
class PrintedRule(Rule):
    """A rule with the flaws of a print, at its rate of epsilon / (2 Delta)."""

    flaws: frozenset[Flaw] = frozenset()

    @classmethod
    def following(cls, rule: Rule, flaws: tuple[Flaw, ...]) -> PrintedRule:
        """A rule with flaws."""
        score = replace(rule.score, monotone=False)
        return cls(score, rule.selection, rule.cost, frozenset(flaws))

    def of_attributes(self, histograms: Integers) -> Integers:
        """Gain ratio in part, where that is the flaw."""
        if "gain_ratio" in self.flaws:
            return gain_ratio_utilities(histograms)
        return super().of_attributes(histograms)

    def after_choice(self, chosen: Integers, histograms: Integers) -> Integers:
        """Stop where a node is pure, where that is the flaw."""
        if "pure_stop" in self.flaws:
            return np.where(are_pure(histograms), -1, chosen)
        return chosen


class PrintedPhase(Phase):
    """Labels of leaves at eDPRF's printed rate, epsilon / 2, half of what counts allow."""

    def _labels(self, question: LeafQuestion) -> LeafRelease:
        assert isinstance(self.rule, PrintedRule)
        return leaf_labels(self.desk, question, monotone="pure_stop" not in self.rule.flaws)


def _listed(name: str, value: Any) -> None:
    if not isinstance(value, tuple | list):
        raise TypeError(
            f"{name} must be a tuple of names, got {value!r}: write () for none, or ('pure_stop',)"
        )


class PrintedGreedyForest(GreedyForestClassifier):
    """A greedy forest that follows printed flaws; ``flaws`` names them."""

    flaws: tuple[Flaw, ...] = parameter(default=(), check=_listed)

    _phase = PrintedPhase

    def _check(self, groups: Any) -> None:
        self.check_parameters()
        check_flaws(self)
        super()._check(groups)

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        follow_the_print(desk, [REASONS[flaw] for flaw in REASONS if flaw in self.flaws])
        super()._train(desk, rng)
        if "selective_aggregation" in self.flaws:
            kept = selected_trees(desk.total, self.forest_, self._leaf_votes)
            self.forest_, leaves = keep_trees(self.forest_, kept)
            self.leaf_values_ = self.leaf_values_[leaves]
            self._leaf_votes = self._leaf_votes[leaves]

    def _rule(self) -> Rule:
        return PrintedRule.following(super()._rule(), self.flaws)

    def _needs_samples(self) -> bool:
        return "misclassified_weights" not in self.flaws

    def _first_samples(self, desk: Desk, n_trees: int) -> TreeSampling:
        if "bootstrap" in self.flaws:
            return draw_bootstrap_samples(desk, n_trees)
        return super()._first_samples(desk, n_trees)

    def _harder_samples(
        self, desk: Desk, n_trees: int, forest: Forest, votes: Values
    ) -> TreeSampling:
        if "misclassified_weights" in self.flaws:
            return draw_bootstrap_samples(desk, n_trees, (forest, votes))
        return super()._harder_samples(desk, n_trees, forest, votes)

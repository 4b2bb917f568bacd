"""How the nodes of greedy trees choose: the utility of every candidate, and one private draw.

Only a verb of the desk calls this, with exact histograms; proofs in ``docs/privacy/greedy.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dpforest.arrays import Integers
from dpforest.privacy.accounts.spends import Amount
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.scores import Score, score_of
from dpforest.privacy.mechanisms.scores import ScoreName as ScoreName
from dpforest.privacy.mechanisms.splitting import NO_CANDIDATE, NodeSplits
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import SplitQuestion

Selection = Literal["permute_and_flip", "exponential"]


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
        this many sensitivities, in whole units, for each child but one. A public constant changes
        neither the sensitivity of a utility nor whether it is monotone. None: nodes do not stop.
    """

    score: Score
    selection: Selection
    cost: Fraction | None = None

    @classmethod
    def of(
        cls, criterion: ScoreName, n_bound: int, selection: Selection, cost: Fraction | None
    ) -> Rule:
        """The rule of a criterion; see `scores.score_of`."""
        return cls(score_of(criterion, n_bound), selection, cost)

    def of_attributes(self, histograms: Integers) -> Integers:
        """The utility of each attribute: the scores of its children added up."""
        return np.asarray(self.score.of_children(histograms).sum(axis=2))

    def after_choice(self, chosen: Integers, histograms: Integers) -> Integers:
        """What becomes of a choice: it stands."""
        return chosen

    def choose(self, utilities: Integers, epsilon: Amount, draws: Draws) -> Integers:
        """One candidate a row, for epsilon a row."""
        mechanism = (
            draws.permute_and_flip if self.selection == "permute_and_flip" else draws.exponential
        )
        return mechanism(
            utilities,
            epsilon=epsilon,
            sensitivity=self.score.sensitivity,
            monotone=self.score.monotone,
        )


def choose(
    histograms: Integers,
    question: AttributeQuestion | SplitQuestion,
    rows: slice,
    rule: Rule,
    epsilon: Amount,
    draws: Draws,
) -> tuple[Integers, int]:
    """What some nodes of a question choose, for epsilon a node.

    Returns
    -------
    chosen : ndarray of int64, shape (nodes,)
        The candidate times the number of options, plus the option; -1 to stop.
    n_options : int
        Of a candidate.
    """
    if isinstance(question, SplitQuestion):
        splits = NodeSplits.of(histograms, question, rows, steps=0)
        utilities, stop = _of_two_children(splits, rule)
    else:
        utilities, stop = _of_all_children(histograms, question, rows, rule)
    chosen = _draw(utilities, stop, rule, epsilon, draws)
    return rule.after_choice(chosen, histograms), utilities.shape[2]


def _of_all_children(
    histograms: Integers, question: AttributeQuestion, rows: slice, rule: Rule
) -> tuple[Integers, Integers]:
    """The utilities of all attributes of some nodes, (nodes, candidates, 1), and of stopping."""
    features = question.features[rows]
    utilities = rule.of_attributes(histograms) - _costs(rule, question.bins.n_bins[features])
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


def _draw(
    utilities: Integers, stop: Integers, rule: Rule, epsilon: Amount, draws: Draws
) -> Integers:
    """The number of the chosen candidate and option of every node; -1 to stop."""
    flat = utilities.reshape(len(utilities), -1)
    if rule.cost is None:
        return rule.choose(flat, epsilon, draws)
    return rule.choose(np.column_stack([stop, flat]), epsilon, draws) - 1

"""Where the flagship chooses questions for its trees, and what it pays for that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.forests.plan import MANY_RECORDS, BoostingPlan
from dpforest.forests.purse import Purse, has_little_signal
from dpforest.losses import Loss
from dpforest.losses.softmax import MANY_CLASSES

FEATURES_OF_LARGE_TABLES = 10  # from here on they choose questions, whatever the loss
LEAST_SIGNAL_OF_TREES = 300.0  # with less, choices of whole trees find too little
CANDIDATE_TREES = 500
FEATURES_OF_A_TRIAL = 10
TRIAL = 8  # choices
SHARE_OF_A_TRIAL = Fraction(12, 100)  # of the budget for trees, with the choices that may follow
MANY_ANSWERS = 5_000_000  # records times candidate trees: beyond, a choice takes long
CLIP_OF_TREES = 0.7  # of the clip of gradients
CLIP_OF_DOUBT = 2.0  # of the clip, where records are as doubtful as they can be


@dataclass(frozen=True)
class QuestionPlan:
    """What trees get of questions that are chosen.

    Parameters
    ----------
    share : Fraction
        Of the budget for the trees, for all choices together.
    n_choices : int
        At most; never more than rounds.
    levels : int
        Of a tree that ask chosen questions, in place of drawn ones. Trees that are chosen whole
        have so many at most, and no more than the first trees of the plan.
    asking : float
        The share of the trees that do.
    wait : bool
        Until trees showed that few questions matter, together. The choices are paid for all the
        same: whether they are made follows from what was released.
    clip : float
        Of the clip of gradients, that of a choice.
    clip_per_hessian : float
        See `dpforest.forests.choice_clip.ChoiceClip`.
    candidate_trees : int
        Trees of which one is chosen with all its questions; 0 where questions are, one by one.
    n_trial : int
        Choices that say whether the others are made, or their price goes to trees; 0 for none.
    """

    share: Fraction
    n_choices: int
    levels: int
    asking: float = 0.6
    wait: bool = False
    clip: float = 1.0
    clip_per_hessian: float = 0.0
    candidate_trees: int = 0
    n_trial: int = 0

    def joined_to(self, plan: BoostingPlan) -> BoostingPlan:
        """The plan of the trees, with the choices that its rounds have room for."""
        n_choices = min(self.n_choices, plan.n_rounds)
        return replace(
            plan,
            n_choices=n_choices,
            n_trial=self.n_trial * n_choices // max(self.n_choices, 1),
            chosen_levels=min(self.levels, plan.depth) if self.candidate_trees else self.levels,
            asking=self.asking,
            choices_wait=self.wait,
            choice_clip=self.clip,
            clip_per_hessian=self.clip_per_hessian,
            candidate_trees=self.candidate_trees,
        )


NO_CHOICES = QuestionPlan(Fraction(0), 0, 0)


def plan_questions(
    purse: Purse, loss: Loss, n_records: float, n_features: int, any_numeric: bool
) -> QuestionPlan:
    """Questions are chosen where there are many features: among few, chance finds the good ones.

    Classes that hang on few categories alone mostly hang on several of them together, which no
    single question shows: there the questions of whole trees are chosen. Not under Laplace noise,
    where choices would cost far more; always without noise, where they are for nothing. Large
    tables wait for a sign that choices are needed: a look at all bins takes long there, and what is
    smooth does better with variety.
    """
    if purse.pure:
        return NO_CHOICES
    large = n_records >= MANY_RECORDS
    if not purse.private:
        if large:
            return QuestionPlan(Fraction(0), 80, 5, 0.8)
        # Numbers learn which cuts to draw as well: with variety among candidates, all may ask.
        levels, asking = (4, 1.0) if loss.drawing.together else (2, 0.6)
        return QuestionPlan(Fraction(0), 300, levels, asking)
    if large and n_features >= FEATURES_OF_LARGE_TABLES:
        return QuestionPlan(Fraction(1, 10), 80, levels=5, asking=0.8, wait=True)
    single = QuestionPlan(
        loss.choice_share, 20, levels=3, clip_per_hessian=_clip_per_hessian(loss, n_records)
    )
    if not large and n_features >= loss.many_features:
        return single
    few_classes = not loss.constant_hessian and loss.n_outputs < MANY_CLASSES
    tried = few_classes and any_numeric and n_features >= FEATURES_OF_A_TRIAL
    if tried and not large and not has_little_signal(purse, n_records, n_features):
        return replace(single, share=SHARE_OF_A_TRIAL, n_trial=TRIAL)
    few_categories = not any_numeric and loss.chooses_trees and n_features > 1
    if few_categories and not large and n_records * purse.strength >= LEAST_SIGNAL_OF_TREES:
        n_trees = min(CANDIDATE_TREES, int(MANY_ANSWERS / max(n_records, 1.0)))
        return QuestionPlan(
            loss.choice_share, 20, levels=4, clip=CLIP_OF_TREES, candidate_trees=n_trees
        )
    return NO_CHOICES


def _clip_per_hessian(loss: Loss, n_records: float) -> float:
    """Of several classes, whose gradients shrink most while they are learnt."""
    if loss.n_outputs == 1 or loss.constant_hessian or n_records <= 0:
        return 0.0
    return CLIP_OF_DOUBT / (n_records * loss.largest_hessian)

"""When questions are chosen, round by round; and a trial, whether choosing pays at all.

Where few features matter, and mostly together, choices name the same feature again and again, and
trees that ask what was chosen tell far more. Where all features tell a little, choices scatter, and
trees are better off with the variety of random questions. What was chosen is released, so which of
both it is can be told for nothing; what was not spent on choices then goes into trees.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from dpforest.forests.choice_clip import ChoiceClip
from dpforest.forests.plan import BoostingPlan
from dpforest.losses import IntegerLoss
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.gradients import GradientRelease
from dpforest.privacy.questions import QuestionChoices
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.oblivious_grower import ObliviousGrower

REPEATED = 0.75  # of a trial's choices, those that must name one feature


@dataclass(frozen=True)
class Prices:
    """What a release costs.

    Parameters
    ----------
    tree : Pure or Gaussian
    choice : Pure or Gaussian, optional
        Of one choice of a question, where the plan has any.
    tree_alone : Pure or Gaussian, optional
        Of a tree after a trial of choices which failed.
    """

    tree: Price
    choice: Price | None = None
    tree_alone: Price | None = None


class Choosing:
    """The choices of one model, before the rounds that its plan names.

    Trees ask what a trial chose once it did well.

    Parameters
    ----------
    desk : Desk
    grower : ObliviousGrower
        Draws candidates, and asks what was chosen.
    loss : IntegerLoss
    plan : BoostingPlan
    prices : Prices
    """

    def __init__(
        self,
        desk: Desk,
        grower: ObliviousGrower,
        loss: IntegerLoss,
        plan: BoostingPlan,
        prices: Prices,
    ) -> None:
        self._desk, self._grower, self._plan, self._prices = desk, grower, plan, prices
        self._loss = replace(loss, clip=plan.choice_clip * loss.clip, hessian_part=0.0)
        self._clip = ChoiceClip(plan.clip_per_hessian)
        self._due = frozenset(plan.choice_rounds)
        self._tried: list[ObliviousTrees] = []
        self._n_made, self.failed = 0, False
        self._choices: QuestionChoices | None = None
        if plan.n_trial:
            self._choices = self._pay(plan.n_trial, "choices of questions, to try them")
        elif plan.n_choices:
            self._choices = self._pay(plan.n_choices, "choices of questions")

    @property
    def tree_price(self) -> Price:
        """Of a tree of the next round."""
        if self.failed and self._prices.tree_alone is not None:
            return self._prices.tree_alone
        return self._prices.tree

    def before(self, number: int, structured: bool) -> None:
        """Make a choice if one is due before this round.

        ``structured`` is whether few questions matter, and only together, by what trees showed.
        """
        waits = self._plan.choices_wait and not structured
        if number not in self._due or waits or self.failed:
            return
        if self._plan.n_trial and self._n_made == self._plan.n_trial:
            self._judge()
        if self._choices is None:
            return
        candidates = self._grower.candidates()
        chosen = self._choices.choose(candidates, self._clip.part)
        question = candidates[chosen : chosen + 1]
        self._n_made += 1
        if self._n_made <= self._plan.n_trial:
            self._tried.append(question)
        else:
            self._grower.keep(question)

    def learn(self, release: GradientRelease) -> None:
        """Take note of what trees released."""
        self._clip.learn(release.hessians)

    def _judge(self) -> None:
        """Go on with choices if the trial named one feature again and again."""
        features = Counter(int(question.feature[0, 0]) for question in self._tried)
        if max(features.values()) < REPEATED * self._plan.n_trial:
            self._choices, self.failed = None, True
            return
        left = self._plan.n_choices - self._plan.n_trial
        self._choices = self._pay(left, "choices of questions")
        for question in self._tried:
            self._grower.keep(question)

    def _pay(self, n_choices: int, label: str) -> QuestionChoices:
        assert self._prices.choice is not None
        return QuestionChoices(self._desk, self._loss, self._prices.choice, n_choices, label)

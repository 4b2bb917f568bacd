"""What the flagship's classifier and regressor share: one fit, and the released trees."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.forests import parameters as checks
from dpforest.forests.base import COUNT_SHARE, FEWEST_RECORDS
from dpforest.forests.bin_plan import bin_share, bin_sizes
from dpforest.forests.binning import PrivateBins, choose_bins, cut_weights
from dpforest.forests.boosted_monotone import MonotoneBoosting
from dpforest.forests.boosting import BoostedTrees, boost, grower_of
from dpforest.forests.choosing import Prices
from dpforest.forests.declared import fitted, parameter
from dpforest.forests.expectations import Worth
from dpforest.forests.files import named, of_group
from dpforest.forests.linear_plan import LinearPlan, plan_linear
from dpforest.forests.linear_start import linear_start
from dpforest.forests.parameters import Auto
from dpforest.forests.plan import NO_TREES, Asked, BoostingPlan, on_grid, plan_boosting
from dpforest.forests.purse import Purse
from dpforest.forests.question_plan import plan_questions
from dpforest.forests.starts import Start
from dpforest.losses import Loss
from dpforest.privacy.accounts.spends import Gaussian, Price, exact
from dpforest.privacy.counts import total_weight
from dpforest.privacy.desk import Desk
from dpforest.report.notes import Notes
from dpforest.trees.oblivious import MAX_DEPTH, ObliviousTrees


class BoostedForest(MonotoneBoosting):
    """What the classifier and the regressor share; not to be used by itself."""

    delta: float = parameter(default=1e-6, check=checks.delta)
    n_estimators: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    max_depth: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    learning_rate: float | Auto = parameter(default="auto", check=checks.positive_or_auto)
    trees_per_round: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    warm_start: bool = parameter(default=False)
    max_sample_weight: float | None = parameter(
        default=None, check=checks.optional(checks.positive)
    )

    n_records_: float = fitted()
    total_weight_: float = fitted()
    bin_weights_: tuple[NDArray[np.float64] | None, ...] = fitted()
    _clipped: bool = fitted()

    def fit(self, X: Any, y: Any, groups: Any = None, *, sample_weight: Any = None) -> Self:
        """Train on a table, within the budget.

        Parameters
        ----------
        X, y, groups
            As in `PrivateEstimator.fit`: features, target, and the person of each record.
        sample_weight : array-like of shape (n,), or str, optional
            The weight of each record, from 0 to ``max_sample_weight``; larger ones count as that.
            Of a source, the name of the column.

        Returns
        -------
        self
        """
        if sample_weight is not None and self.max_sample_weight is None:
            raise ValueError(
                "sample_weight is private, and what a record may change follows from its largest "
                "value: declare max_sample_weight, a public bound of the weights"
            )
        return self._fit(X, y, groups, sample_weight)

    def _trees_to_go_on_from(self) -> int:
        return self.forest_.trees.n_trees if self.warm_start and self._complete else 0

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Count the records, choose bins, and release the trees; or go on with more trees."""
        self._check_monotone()
        self._delta_aside_ = Fraction(0)
        before: BoostedTrees | None = getattr(self, "forest_", None)
        share = Fraction(1)
        if before is not None:
            self._refuse_what_was_free(before)
        else:
            share = self._learn_at_once(desk, rng, self._count(desk))
            if not share:
                return
            share = self._prepare(desk, share)
        desk.encode(self.encoding_, by_feature=True)
        self._boost(desk, rng, share, before)

    def _learn_at_once(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """One rule, tree or number may be all of the model: 0, or the share left, is returned."""
        return share

    def _purse(self) -> Purse:
        """The budget, but for the delta that another way of spending it may have cost."""
        delta = exact(self.delta, "delta") - getattr(self, "_delta_aside_", 0)
        return Purse(float(self.epsilon), float(delta), self.ledger_.protection.steps)

    def _count(self, desk: Desk) -> Fraction:
        """Pay for a number of records, and for their weight; returns the share left."""
        left, weight = Fraction(1), None
        self.n_records_ = self._count_records(desk)
        if self.n_hint is None and not desk.count_is_public:
            left -= COUNT_SHARE
        self.total_weight_ = self.n_records_
        if desk.has_weights:
            found = total_weight(desk, self._price_of_count())
            self.total_weight_ = weight = min(max(found, FEWEST_RECORDS), self.n_records_)
            left -= COUNT_SHARE
        self._warn_of_few_records(desk, self.n_records_, weight)
        return left

    def _prepare(self, desk: Desk, left: Fraction) -> Fraction:
        """Pay for bins and for a look at the target; returns the share left."""
        purse = self._purse()
        facts, target = (purse, self.n_records_, self.n_features_in_), self.schema_.target
        n_classes = 0 if target is None else len(target.classes or ())
        look = bin_share(*facts, n_classes) / 2
        bins = choose_bins(
            desk, self.schema_, self.n_records_, purse.price(look), bin_sizes(*facts), 3
        )
        self._keep_bins(bins)
        return left - bins.n_looks * look - self._learn_of_target(desk, purse)

    def _price_of_count(self) -> Price:
        return self._purse().price(COUNT_SHARE)

    def _worth(self) -> Worth:
        purse = self._purse()
        least = self._least_signal(pure=purse.pure)
        if purse.pure:
            return super()._worth()._replace(least=least)
        count_noise = 1.0 / math.sqrt(COUNT_SHARE)
        return Worth(float(self.delta), purse.total, least, count_noise)

    def _least_signal(self, *, pure: bool) -> float:
        """With less, a model is unlikely to tell more than one class for all, or the mean."""
        return 15.0 if pure else 4.0

    def _boost(
        self,
        desk: Desk,
        rng: np.random.Generator,
        share: Fraction,
        before: BoostedTrees | None,
    ) -> None:
        """Spend the share on a start and on trees."""
        purse = self._purse()
        shape = self.n_estimators, self.trees_per_round, self.max_depth, self.learning_rate
        asked = Asked(*[_unless_auto(asked_for) for asked_for in shape])
        self._clipped = purse.private
        if before is not None:
            self._grow(desk, rng, share, asked, before, self._n_grown)
            return
        start, share = self._start(desk, rng, share, asked)
        if start is not None and not share:
            self._keep_only(start)
            return
        self._keep_start(start)
        self._grow(desk, rng, share, asked, None if start is None else start.forest, 0)

    def _start(
        self, desk: Desk, rng: np.random.Generator, share: Fraction, asked: Asked
    ) -> tuple[Start | None, Fraction]:
        """What comes before the forest, a linear model or nothing; and the share left."""
        purse = self._purse()
        plan = self._plan_linear(purse, share, asked)
        if not plan.n_steps:
            return None, share
        price = purse.price(share * plan.share, among=plan.n_steps)
        assert isinstance(price, Gaussian)
        loss = replace(on_grid(self._loss(), purse, price, desk.steps), hessian_part=0.0)
        design, bins = self._linear_design(), self.encoding_.feature_bins
        start = linear_start(desk, design, bins, loss, plan, self.total_weight_, price)
        return replace(start, forest=self._held(start.forest)), share * (1 - plan.share)

    def _keep_only(self, start: Start) -> None:
        """A start that is the whole model."""
        self._keep_start(start)
        self.plan_, self.forest_ = NO_TREES, start.forest
        self._keep_notes(Notes(start.forest), [])

    @property
    def _n_grown(self) -> int:
        return self.forest_.trees.n_trees - self._n_start_trees

    def _grow(
        self,
        desk: Desk,
        rng: np.random.Generator,
        share: Fraction,
        asked: Asked,
        start: BoostedTrees | None,
        n_grown: int,
    ) -> None:
        """Spend the share on trees, on top of a start and of trees grown before."""
        purse = self._purse()
        any_numeric = not self.encoding_.feature_bins.categorical.all()
        facts = self.total_weight_, self.n_features_in_, any_numeric
        questions = plan_questions(purse, self._loss(), *facts)
        for_choices, share = share * questions.share, share * (1 - questions.share)
        loss = on_grid(self._loss(), purse, purse.price(share), steps=1)
        plan = questions.joined_to(plan_boosting(purse, share, loss, *facts, asked))
        if self.learning_rate == "auto":
            # The new trees' noise joins that of the old: as if both were one average.
            part = plan.n_trees / (plan.n_trees + n_grown)
            plan = replace(plan, learning_rate=part * plan.learning_rate)
        loss = on_grid(
            self._loss(), purse, purse.price(share, plan.n_trees), self.ledger_.protection.steps
        )
        constraints = self._monotone()
        known = self.encoding_.feature_bins, cut_weights(self.bin_weights_), constraints
        grower = grower_of(plan, *known, rng)
        prices = self._prices(plan, share, for_choices)
        self.plan_ = plan
        notes, earlier = Notes(start), [self.leaf_noise_] if n_grown else []
        grown = boost(desk, grower, loss, plan, prices, start, notes, constraints)
        self.forest_ = self._held(grown)
        self._keep_notes(notes, earlier)

    def _prices(self, plan: BoostingPlan, share: Fraction, for_choices: Fraction) -> Prices:
        """Of the trees' share and that of choices: where a trial fails, the rest goes to trees."""
        purse, choice, alone = self._purse(), None, None
        if plan.n_choices:
            choice = purse.price(for_choices, plan.n_choices)
        if plan.n_trial:
            saved = for_choices * (plan.n_choices - plan.n_trial) / plan.n_choices
            alone = purse.price(share / plan.n_trees + saved / plan.n_trees_after_trial)
        return Prices(purse.price(share, plan.n_trees), choice, alone)

    def _plan_linear(self, purse: Purse, share: Fraction, asked: Asked) -> LinearPlan:
        """What public facts say; whoever asks for a shape of the trees gets trees."""
        bins = self.encoding_.feature_bins
        ordered = float((~bins.categorical | (bins.n_values == 2)).mean())
        facts = self.total_weight_, self.n_features_in_, ordered, self._loss()
        plan = plan_linear(purse, share, *facts)
        return replace(plan, share=min(plan.share, Fraction(1, 2))) if asked != Asked() else plan

    def _learn_of_target(self, desk: Desk, purse: Purse) -> Fraction:
        """What the regressor pays to learn of its target; returns the share spent."""
        return Fraction(0)

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _keep_bins(self, bins: PrivateBins) -> None:
        self.encoding_ = bins.encoding
        self.bin_weights_ = bins.weights
        self.bin_shares_ = bins.shares

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.max_depth != "auto" and self.max_depth > MAX_DEPTH:
            raise ValueError(f"max_depth must be at most {MAX_DEPTH}, got {self.max_depth!r}")

    def _facts(self) -> dict[str, Any]:
        return {
            **super()._facts(),
            "n_records": self.n_records_,
            "total_weight": self.total_weight_,
            "plan": asdict(self.plan_),
            "clipped": self._clipped,
            "n_linear_trees": self._n_start_trees,  # the name that older files have
            "bin_weights": [None if w is None else w.tolist() for w in self.bin_weights_],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._arrays(),
            **named("trees", self.forest_.trees.to_arrays()),
            "values": self.forest_.values,
        }

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.n_records_ = float(facts["n_records"])
        self.total_weight_ = float(facts["total_weight"])
        self.plan_ = BoostingPlan(**facts["plan"])
        self._clipped = bool(facts["clipped"])
        self._n_start_trees = int(facts["n_linear_trees"])
        weights = tuple(None if w is None else np.array(w) for w in facts["bin_weights"])
        self._keep_bins(PrivateBins(self.encoding_, weights, self.bin_shares_, 0))
        trees = ObliviousTrees.from_arrays(of_group("trees", arrays))
        self.forest_ = BoostedTrees(trees, arrays["values"].astype(np.float32))
        self.forest_.refuse_misfits(self.n_features_in_)
        grown = self.forest_.trees[self._n_start_trees :]
        if not self.leaf_noise_.fits(self._n_grown, grown.n_leaves):
            raise ValueError("the noise does not fit the leaves")
        if len(self._start_by_chance) not in (0, self._n_start_trees):
            raise ValueError("what chance does to the tree does not fit it")


def _unless_auto(value: Any) -> Any:
    return None if value == "auto" else value

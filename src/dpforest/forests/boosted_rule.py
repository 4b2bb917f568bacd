"""Where the flagship's classifier is one rule: too few records for their budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.forests.binning import public_bins
from dpforest.forests.boosted_base import BoostedForest
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.plan import Asked, Purse, is_for_one_rule, rule_share
from dpforest.forests.rule_start import MOST_CLASSES, start_with_rule
from dpforest.privacy.accounts.spends import Gaussian, Price, Pure
from dpforest.privacy.desk import Desk
from dpforest.report.noise_runs import DescentNoise

GRAIN = 1 << 50  # prices are rounded down to whole parts of this, so that fractions stay short


class RuledBoosting(BoostedForest):
    """A boosted classifier that may be one rule; not to be used by itself."""

    def _takes_one_rule(self, desk: Desk) -> bool:
        """By public facts and the noisy number of records."""
        purse = Purse(float(self.epsilon), float(self.delta))
        return self._may_have_rule(desk) and is_for_one_rule(purse, self.n_records_ / desk.steps)

    def _may_have_rule(self, desk: Desk) -> bool:
        """Whoever asks for a shape of the trees gets trees; a rule knows of no weights."""
        shape = self.n_estimators, self.max_depth, self.learning_rate, self.trees_per_round
        few = len(self.schema_.classes) <= MOST_CLASSES
        return few and not desk.has_weights and set(shape) == {"auto"}

    def _learn_one_rule(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> None:
        """Spend all that is left on a rule, on public bins."""
        purse = Purse(float(self.epsilon), float(self.delta))
        share -= self._look_at_target(desk, purse)
        self._keep_bins(public_bins(self.schema_))
        desk.encode(self.encoding_, by_feature=True)
        self._clipped = True
        start = self._rule(desk, rng, self._all_that_is_left(purse, share))
        self._n_linear_trees = start.trees.n_trees
        self._keep_only(start)

    def _start_with_rule(
        self, desk: Desk, rng: np.random.Generator, purse: Purse, share: Fraction, asked: Asked
    ) -> tuple[BoostedTrees | None, Fraction]:
        """Spend some of the share on a rule to start from, where it pays."""
        part = rule_share(purse, self.n_records_ / desk.steps)
        if not part or not self._may_have_rule(desk):
            return None, share
        return self._rule(desk, rng, purse.price(share * part)), share * (1 - part)

    def _rule(self, desk: Desk, rng: np.random.Generator, price: Price) -> BoostedTrees:
        bins, n_classes = self.encoding_.feature_bins, len(self.schema_.classes)
        start = start_with_rule(desk, bins, self.bin_weights_, n_classes, price, rng)
        # A choice is no sum with noise in it: there is none to compare the rule with.
        self._start_noise = DescentNoise(0.0, 0.0)
        return BoostedTrees(start.trees, self._monotone().project(start.trees, start.values))

    def _all_that_is_left(self, purse: Purse, share: Fraction) -> Price:
        """A pure price, which buys a choice more than a Gaussian one of the same epsilon and delta.

        Where a shared budget or a search has set Gaussian noise aside for the fit, a Gaussian one.
        """
        held = self.budget is not None or getattr(self, "_cap", None) is not None
        if held and not purse.pure:
            return Gaussian(purse.total * math.sqrt(share))
        left = Fraction(self.ledger_.unspent_epsilon)
        return Pure(Fraction(math.floor(left * GRAIN), GRAIN))

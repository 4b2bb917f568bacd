"""Where the flagship's classifier is one rule: too few records for their budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest.forests.binning import public_bins
from dpforest.forests.boosted_base import BoostedForest
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.plan import Purse, is_for_one_rule
from dpforest.forests.rule_start import MOST_CLASSES, start_with_rule
from dpforest.privacy.accounts.spends import Gaussian, Price, Pure
from dpforest.privacy.desk import Desk

GRAIN = 1 << 50  # prices are rounded down to whole parts of this, so that fractions stay short


class RuledBoosting(BoostedForest):
    """A boosted classifier that may be one rule; not to be used by itself."""

    def _takes_one_rule(self, desk: Desk) -> bool:
        """By public facts and the noisy number of records; never where a shape is asked for."""
        shape = self.n_estimators, self.max_depth, self.learning_rate, self.trees_per_round
        return (
            set(shape) == {"auto"}
            and not desk.has_weights
            and len(self.schema_.classes) <= MOST_CLASSES
            and is_for_one_rule(Purse(float(self.epsilon), float(self.delta)), self.n_records_)
        )

    def _learn_one_rule(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> None:
        """Spend all that is left on a rule, on public bins."""
        purse = Purse(float(self.epsilon), float(self.delta))
        share -= self._look_at_target(desk, purse)
        self._keep_bins(public_bins(self.schema_))
        desk.encode(self.encoding_, by_feature=True)
        bins, n_classes = self.encoding_.feature_bins, len(self.schema_.classes)
        self._clipped, self._start_noise = True, None
        price = self._all_that_is_left(purse, share)
        start = start_with_rule(desk, bins, self.bin_weights_, n_classes, price, rng)
        start = BoostedTrees(start.trees, self._monotone().project(start.trees, start.values))
        self._n_linear_trees = start.trees.n_trees
        self._keep_only(start)

    def _all_that_is_left(self, purse: Purse, share: Fraction) -> Price:
        """A pure price, which buys a choice more than a Gaussian one of the same epsilon and delta.

        Where a shared budget or a search has set Gaussian noise aside for the fit, a Gaussian one.
        """
        held = self.budget is not None or getattr(self, "_cap", None) is not None
        if held and not purse.pure:
            return Gaussian(purse.total * math.sqrt(share))
        left = Fraction(self.ledger_.unspent_epsilon)
        return Pure(Fraction(math.floor(left * GRAIN), GRAIN))

"""Where the flagship's classifier is one greedy tree, or starts from one: under Laplace noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.forests.binning import public_bins
from dpforest.forests.boosted_rule import RuledBoosting
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.first_tree import START_SHARE, release_tree
from dpforest.forests.one_rule import do_sums_tell_more
from dpforest.forests.plan import Asked
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.desk import Desk
from dpforest.trees.scales import sums_of
from dpforest.trees.structure import FeatureBins

LEAST_SIGNAL = 90.0  # records times epsilon; with less a rule tells as much as a tree
TRIAL_NOISE, MOST_OF_TRIAL = 0.03, 0.2  # of the records, if that costs no more of the budget
FINEST_SHARE = 10**6
MOST_COUNTS, MOST_LOOKS = 10**7, 10**8  # that a trial may add up, and take of records on scales


def trial_share(signal: float, n_records: float, bins: FeatureBins, n_classes: int) -> Fraction:
    """The share of the budget for a trial, whether sums of features tell far more than any feature.

    0 where there are no sums, or a look at all rules takes long.

    Examples
    --------
    >>> bins = FeatureBins(np.full(5, 100), np.full(5, 101), np.zeros(5, np.bool_))
    >>> trial_share(1_000.0, 1_000.0, bins, 3), trial_share(1_000.0, 1_000_000.0, bins, 3)
    (Fraction(1, 30), Fraction(0, 1))
    """
    n_sums = sums_of(n_classes) if len(bins) > 1 else 0
    n_scales = int(np.where(bins.categorical, bins.n_values, 1).sum()) + n_sums
    n_counts = n_scales * int(bins.n_values.max()) * n_classes
    if not n_sums or n_counts > MOST_COUNTS or n_records * n_scales > MOST_LOOKS:
        return Fraction(0)
    part = min(1.0 / (TRIAL_NOISE * signal), MOST_OF_TRIAL)
    return max(Fraction(part).limit_denominator(FINEST_SHARE), Fraction(1, FINEST_SHARE))


class TreedBoosting(RuledBoosting):
    """A boosted classifier that may be one rule or one tree; not to be used by itself."""

    def _learn_one_rule(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """Of several classes a tree, unless a trial says that sums of features tell more."""
        if not self._may_be_a_tree(desk) or len(self.schema_.classes) == 2:
            return super()._learn_one_rule(desk, rng, share)
        signal = self.n_records_ * self._purse().strength
        if signal < LEAST_SIGNAL:
            return super()._learn_one_rule(desk, rng, share)
        self._keep_bins(public_bins(self.schema_))
        known = self.encoding_.feature_bins, self.bin_weights_, len(self.schema_.classes)
        trial = trial_share(signal, self.n_records_, known[0], known[2])
        if trial:
            share -= trial
            desk.encode(self.encoding_, by_feature=True)
            if do_sums_tell_more(desk, *known, self._purse().price(trial), rng, self.n_records_):
                return super()._learn_one_rule(desk, rng, share)
        self._clipped = True
        share -= self._look_at_target(desk, self._purse())
        tree = self._release_tree(desk, rng, share)
        self._n_linear_trees = tree.trees.n_trees
        self._keep_only(tree)
        return Fraction(0)

    def _start(
        self, desk: Desk, rng: np.random.Generator, share: Fraction, asked: Asked
    ) -> tuple[BoostedTrees | None, Fraction]:
        """Of two classes a tree comes first."""
        if not self._may_be_a_tree(desk) or len(self.schema_.classes) > 2:
            return super()._start(desk, rng, share, asked)
        tree = self._release_tree(desk, rng, share * START_SHARE)
        desk.encode(self.encoding_, by_feature=True)
        return tree, share * (1 - START_SHARE)

    def _may_be_a_tree(self, desk: Desk) -> bool:
        """Under Laplace noise; a tree follows no constraints."""
        free = not self.monotone_constraints and self._may_be_one_rule(desk)
        return free and self._purse().pure

    def _release_tree(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> BoostedTrees:
        """A tree of the bins of the model, for a share of the budget."""
        price = self._purse().price(share)
        assert isinstance(price, Pure)
        self._start_noise = None
        desk.encode(self.encoding_)
        known = self.encoding_.feature_bins, len(self.schema_.classes)
        tree, self._tree_by_chance_ = release_tree(desk, *known, self.n_records_, price, rng)
        return tree

"""Where the flagship's classifier is one greedy tree, or starts from one: under Laplace noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.forests.binning import public_bins
from dpforest.forests.boosted_rule import RuledBoosting
from dpforest.forests.first_tree import release_tree
from dpforest.forests.one_rule import do_sums_tell_more
from dpforest.forests.plan import Asked
from dpforest.forests.starts import Start
from dpforest.forests.tree_plan import LEAST_SIGNAL, START_SHARE, sums_trial_share
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.desk import Desk


class TreedBoosting(RuledBoosting):
    """A boosted classifier that may be one rule or one tree; not to be used by itself."""

    def _learn_at_once(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Fraction:
        """Of several classes a tree, unless a trial says that sums of features tell more."""
        if not self._may_be_a_tree(desk) or len(self.schema_.classes) == 2:
            return super()._learn_at_once(desk, rng, share)
        signal = self.n_records_ * self._purse().strength
        if signal < LEAST_SIGNAL:
            return super()._learn_at_once(desk, rng, share)
        self._keep_bins(public_bins(self.schema_))
        known = self.encoding_.feature_bins, self.bin_weights_, len(self.schema_.classes)
        trial = sums_trial_share(signal, self.n_records_, known[0], known[2])
        if trial:
            share -= trial
            desk.encode(self.encoding_, by_feature=True)
            if do_sums_tell_more(desk, *known, self._purse().price(trial), rng, self.n_records_):
                return super()._learn_at_once(desk, rng, share)
        self._clipped = True
        share -= self._learn_of_target(desk, self._purse())
        self._keep_only(self._release_tree(desk, rng, share))
        return Fraction(0)

    def _start(
        self, desk: Desk, rng: np.random.Generator, share: Fraction, asked: Asked
    ) -> tuple[Start | None, Fraction]:
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

    def _release_tree(self, desk: Desk, rng: np.random.Generator, share: Fraction) -> Start:
        """A tree of the bins of the model, for a share of the budget."""
        price = self._purse().price(share)
        assert isinstance(price, Pure)
        desk.encode(self.encoding_)
        known = self.encoding_.feature_bins, len(self.schema_.classes)
        return release_tree(desk, *known, self.n_records_, price, rng)

"""Where a noisy count chooses between one choice for all records and trees: delta is divided."""

from __future__ import annotations

from fractions import Fraction

from dpforest.forests.base import COUNT_SHARE
from dpforest.forests.boosted_base import BoostedForest
from dpforest.forests.two_ways import Ways
from dpforest.privacy.accounts.accounting import pure_beside
from dpforest.privacy.accounts.set_aside import SetAside
from dpforest.privacy.accounts.spends import Price, Pure, Spend
from dpforest.privacy.desk import Desk

OTHER_WAY = "the way that the noisy count did not take"


class TwoWayBoosting(BoostedForest):
    """A boosted forest that may be one choice, at a pure price; not to be used by itself."""

    @property
    def _shape_is_free(self) -> bool:
        """Whoever asks for a shape of the trees gets trees."""
        shape = self.n_estimators, self.max_depth, self.learning_rate, self.trees_per_round
        return set(shape) == {"auto"}

    def _count_chooses(self, desk: Desk) -> bool:
        """Whether the way follows from a noisy count, and the ways have prices of two kinds."""
        return not (self._is_held or desk.count_is_public or self.n_hint is not None)

    def _set_delta_aside(self, desk: Desk, most_signal: float, alone: bool) -> Fraction:
        """Debit the delta of the way that the noisy count did not take; returns a share to keep.

        ``most_signal`` is that from which on there are trees, ``alone`` says that there are none.
        ``docs/privacy/boosted.md`` (The choice of a rule) has the proof.
        """
        ways = Ways.of(self._purse(), most_signal, COUNT_SHARE)
        aside = ways.delta_aside(self.n_records_, alone=alone)
        if not aside:
            return Fraction(0)
        desk.ledger.debit(Spend.of(OTHER_WAY, "set aside", SetAside(aside)))
        self._delta_aside_ = aside
        return ways.dearer_count(self._purse())

    @property
    def _is_held(self) -> bool:
        """Whether a shared budget or a search has set Gaussian noise aside for the fit."""
        return self.budget is not None or getattr(self, "_cap", None) is not None

    def _all_that_is_left(self, share: Fraction, parts: tuple[Fraction, ...]) -> Price:
        """A pure price, which buys a choice more than a Gaussian one of the same epsilon and delta.

        It is for choices and counts that get these parts of it. A fit that is held to Gaussian
        noise pays a Gaussian one.
        """
        purse = self._purse()
        if self._is_held and not purse.pure:
            return purse.price(share)
        stage = self.ledger_.stages[-1]
        epsilon = Fraction(stage.budget_epsilon)
        if not stage.total.mu_squared:
            return Pure(epsilon - stage.total.epsilon)
        delta = float(stage.budget_delta - stage.total.delta)
        return Pure(pure_beside(stage.total.mu, epsilon, delta, parts))

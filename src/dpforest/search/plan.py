"""How the budget of a search is shared out: from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpforest.privacy.accounts.accounting import gaussian_epsilon, mu_for
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.choices import Choice
from dpforest.privacy.accounts.spends import (
    Branch,
    Cost,
    Gaussian,
    Price,
    Pure,
    Spend,
    exact,
)
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.privacy.accounts.trainings import Training, covering_mu
from dpforest.privacy.hold_out import marks_spend, selection_spend

Method = Literal["random_stopping", "permute_and_flip"]
TAILS = (Fraction(0), Fraction(1, 2), Fraction(1))  # eta: the smaller, the cheaper and the longer
MOST_TRIALS = 3  # mean trials a candidate: longer tails would save little and take long
WORTH = 1.05  # longer tails are more work and more often a single trial: not for less than this
_DOWN = 1 - 1e-9  # relative: what planners give away for rounding


@dataclass(frozen=True)
class Shares:
    """What a search is planned from; all of it is public.

    Parameters
    ----------
    epsilon, delta : Fraction
        Of the search; with a delta the releases of a training are Gaussian.
    n_candidates : int
    steps : int
        Single records between neighbours.
    pure_share : Fraction
        Of a training's epsilon, for pure releases where there is a delta.
    """

    epsilon: Fraction
    delta: Fraction
    n_candidates: int
    steps: int
    pure_share: Fraction = Fraction(0)

    def price(self, strength: float) -> Price:
        """A price of this strength: a mu where there is a delta, an epsilon otherwise."""
        return Gaussian(strength) if self.delta else Pure(exact(strength))


@dataclass(frozen=True)
class SearchPlan:
    """What is paid for what.

    Parameters
    ----------
    method : {"random_stopping", "permute_and_flip"}
    epsilon, delta : float
        Of each training.
    most : Cost
        What each training is held to.
    choosing : Pure or Gaussian
        Of the marks of each trial, or of the choice among all.
    entry : Choice
        What the ledger debits for all of it.
    """

    method: Method
    epsilon: float
    delta: float
    most: Cost
    choosing: Price
    entry: Choice

    @property
    def stopping(self) -> Stopping | None:
        """The law of the number of trials."""
        return self.entry.stopping


def plan_search(shares: Shares, method: Method, coverage: float) -> SearchPlan:
    """Share the budget out, as the method asks."""
    if method == "permute_and_flip":
        return _all_trained(shares)
    return _best_stopping(shares, coverage)


def _best_stopping(shares: Shares, coverage: float) -> SearchPlan:
    """By the law that leaves most for a trial; the geometric one where others gain little."""
    epsilon, delta = float(shares.epsilon), float(shares.delta)
    found = [
        (law.trial_mu(epsilon, delta) if delta else law.trial_epsilon(epsilon), law)
        for law in laws(shares.n_candidates, coverage)
    ]
    strength, law = max(found, key=lambda pair: pair[0] * (WORTH if pair[1].eta == 1 else 1.0))
    (asked, its_delta), most, training = _training(shares, strength)
    choosing = shares.price(strength)
    entry = Choice(
        f"search among {shares.n_candidates} candidates, {law.mean:.3g} trials on average",
        "random stopping",
        (training, marks_spend(choosing, shares.steps)),
        stopping=law,
        epsilon=shares.epsilon,
        delta=shares.delta,
    )
    return SearchPlan("random_stopping", asked, its_delta, most, choosing, entry)


def _all_trained(shares: Shares) -> SearchPlan:
    n, epsilon, delta = shares.n_candidates, shares.epsilon, float(shares.delta)
    # Trainings share one part: their epsilons, or squares of mu, add up.
    strength = mu_for(float(epsilon), delta) / math.sqrt(n) if delta else float(epsilon) / n
    (asked, its_delta), most, training = _training(shares, strength * _DOWN)
    entry = Choice(
        f"search among {n} candidates, all trained",
        "parallel",
        (
            Branch("training part: all candidates", "sequential", (training,), times=n),
            selection_spend(epsilon, shares.steps),
        ),
        epsilon=epsilon,
        delta=shares.delta,
    )
    return SearchPlan("permute_and_flip", asked, its_delta, most, Pure(epsilon), entry)


def laws(n_candidates: int, coverage: float) -> Iterator[Stopping]:
    """Laws with which each candidate is tried with at least this chance, in reasonable time.

    Examples
    --------
    >>> [(str(law.eta), round(law.mean)) for law in laws(20, 0.5)]
    [('1/2', 24), ('1', 20)]
    """
    for eta in TAILS:
        odds = 2
        while Stopping(eta, odds).chance(n_candidates) < coverage and odds < 1 << 24:
            odds *= 2
        low = odds // 2
        while low + 1 < odds:
            middle = (low + odds) // 2
            reaches = Stopping(eta, middle).chance(n_candidates) >= coverage
            low, odds = (low, middle) if reaches else (middle, odds)
        law = Stopping(eta, odds)
        if eta == 1 or law.mean <= MOST_TRIALS * n_candidates:
            yield law


def _training(shares: Shares, strength: float) -> tuple[tuple[float, float], Cost, Spend]:
    """The epsilon and delta that a training is asked to keep, what it is held to, its entry."""
    if not shares.delta:
        asked = strength * _DOWN
        # Some plans share out a float's decimals, others its binary value: the larger by a hair.
        largest = max(exact(asked), Fraction(asked))
        return (asked, 0.0), Cost({largest: 1}), _held_to(Training(largest, 0.0))
    # The pair only stands for a mu: so small a delta that a positive epsilon goes with it.
    delta = min(float(shares.delta), strength / 1000)
    low, high = 0.0, gaussian_epsilon(strength, delta)
    for _ in range(60):
        middle = (low + high) / 2
        fits = covering_mu(most_of(middle, delta, shares.pure_share)) <= strength
        low, high = (middle, high) if fits else (low, middle)
    most = most_of(low, delta, shares.pure_share)
    return (low, delta), most, _held_to(Training(0, covering_mu(most)))


def _held_to(made: Training) -> Spend:
    return Spend.of("training part: a candidate", "held to at most this", made)

"""Searches under audit: replays of what they release, and the exact law of a random stopping."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import clone

from dpforest.audit.replay_draws import RecordingDraws
from dpforest.audit.shown import Shown
from dpforest.audit.worlds import Table
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Branch
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.search import PrivateSearchCV

Law = NDArray[np.float64]
SLIVER = 1e-5  # of a trial's outputs: so small that the bound is attained but for so much


@dataclass(frozen=True)
class OneSearch:
    """To be given to `replay`: a search in which all is trained, or one trial of a random stopping.

    Of a random stopping only the best trial is seen, so adding up what all trials tell would hold
    it to more than it promises. One trial is held to what one trial has paid; that the best of
    many costs what the ledger says is for `worst_stopping` to see.

    Parameters
    ----------
    search : PrivateSearchCV
    """

    search: PrivateSearchCV

    def __call__(self, table: Table, draws: RecordingDraws) -> Shown:
        """Run it on a table."""
        search: Any = clone(self.search).set_params(random_state=0, budget=None)
        search._draws = draws
        # The proof's: a replaced record and the one in its place are in the same part.
        draws.coupled = True
        draws.label = lambda: "a release of a candidate"
        with patch.object(draws, "number_of_trials", lambda law: 1):
            search.fit(table.X, table.y, table.groups)
        shown = Shown.of(
            search.best_estimator_,
            params=search.best_params_,
            results=search.cv_results_,
            index=search.best_index_,
        )
        return Shown(_account_of_parts(search), shown.parts)


def _account_of_parts(search: PrivateSearchCV) -> Ledger:
    """What either part pays, for one trial or for all trainings: pure and Gaussian apart."""
    stage = search.ledger_.stages[-1]
    ledger = Ledger(2 * stage.budget_epsilon, stage.budget_delta, stage.protection)
    ledger.debit(Branch("both parts", "parallel", search.plan_.entry.parts))
    return ledger


@dataclass(frozen=True)
class StoppingReport:
    """The exact loss of keeping the best of a random number of trials, against the claim.

    Parameters
    ----------
    law : Stopping
    trial : str
        What a trial costs.
    claim, found : float
        An epsilon of pure trials; a delta of Gaussian ones.
    """

    law: Stopping
    trial: str
    claim: float
    found: float = field(compare=False)

    @property
    def holds(self) -> bool:
        """Whether no more is lost than is claimed."""
        return self.found <= self.claim

    def __str__(self) -> str:
        """One line."""
        verdict = "holds" if self.holds else "BROKEN"
        named = {Fraction(0): "logarithmic", Fraction(1): "geometric"}
        kind = named.get(self.law.eta, f"negative binomial of {self.law.eta}")
        return (
            f"{verdict}: {kind}, {self.law.mean:.3g} trials of {self.trial}: "
            f"{self.found:.6g} of {self.claim:.6g}"
        )


def kept(law: Stopping, trial: Law) -> Law:
    """The exact law of the best of a random number of trials, over outputs in order of rank.

    The best is at most the i-th just when all trials are: f of their cumulated law, with f the
    generating function of the number of trials.

    Examples
    --------
    >>> kept(Stopping(1, 2), np.array([0.5, 0.5])).round(6).tolist()
    [0.333333, 0.666667]
    """
    return np.diff(generating(law, np.append(0.0, np.cumsum(trial))))


def generating(law: Stopping, x: Law) -> Law:
    """The generating function of the number of trials: the mean of x to its power."""
    shrunk = np.log1p(-(1 - 1 / law.odds) * np.minimum(x, 1.0))
    if not law.eta:
        return np.asarray(shrunk / -math.log(law.odds))
    eta = float(law.eta)
    return np.asarray(np.expm1(-eta * shrunk) / math.expm1(eta * math.log(law.odds)))


def worst_pure_stopping(law: Stopping, epsilon: float) -> StoppingReport:
    """The largest loss of a random stopping whose trials are randomised response, ranked badly.

    A share of 1 / (1 + exp(epsilon)) of the trials with the one table is ranked highest, which is
    exp(epsilon) times as much with the other; a sliver just below it is the other way round.
    """
    low, high = 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-epsilon))
    sliver = SLIVER * high
    one = np.array([high - sliver, sliver, low])
    other = np.array([low - sliver * low / high, sliver * low / high, high])
    loss = np.abs(np.log(kept(law, one) / kept(law, other))).max()
    claim = law.pure_epsilon(epsilon)
    return StoppingReport(law, f"epsilon = {epsilon:.4g}", claim, float(loss))


def worst_gaussian_stopping(
    law: Stopping, mu: float, epsilon: float, cells: int = 4000
) -> StoppingReport:
    """The largest delta, at epsilon, of a random stopping whose trials tell two normal laws apart.

    Outputs that speak for the other table are ranked highest, up to a share that is chosen as
    badly as can be; then come those that speak most for the one table, then the rest.
    """
    edges = np.linspace(-9.0, 9.0 + mu, cells + 1)
    one, other = -np.diff(ndtr(mu - edges)), -np.diff(ndtr(-edges))
    delta = 0.0
    for share in np.concatenate([[0.0], np.geomspace(1e-6, 0.5, 60)]):
        top = int(np.searchsorted(edges, mu + ndtri(share))) if share else 0
        order = np.r_[np.arange(top, cells), np.arange(top)[::-1]]
        gaps = kept(law, one[order]) - math.exp(epsilon) * kept(law, other[order])
        delta = max(delta, float(np.maximum(gaps, 0.0).sum()))
    return StoppingReport(law, f"mu = {mu:.4g}", law.delta(mu, epsilon), delta)

"""The distinguishing game: telling two neighbouring tables apart by what is released."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.bounds import epsilon_bound, mu_bound
from dpforest.audit.events import Event, Releases, Tell, learn_event
from dpforest.audit.games import EstimatorGame, Game, Tick
from dpforest.audit.report import AuditReport
from dpforest.audit.worlds import Pair
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.accounts.accounting import mu_for
from dpforest.privacy.accounts.ledger import Guarantee
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.progress import Bar

LEAST_TRIALS = 400
WHILE_LEARNING = 0.9  # fewer trials than will be counted, so less caution


def audit(
    estimator: PrivateEstimator | Game,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    trials: int = 20_000,
    confidence: float = 0.999,
    pairs: Sequence[Pair] | None = None,
    random_state: int | None = None,
    progress: Tick | None = None,
) -> AuditReport:
    """Try to catch an estimator at leaking more than it says.

    It is fitted many times on neighbouring tables that are as bad as can be. A quarter of the fits
    chooses the pair of tables, a quarter learns an event that tells the two apart, and half
    counts how often that event happens with either table. The counts prove a lower bound on the
    true epsilon, by Clopper and Pearson's bounds (`dpforest.audit.bounds`). No bound above the
    claim is no proof that there is no leak; a bound above it is proof that there is one, up to the
    confidence.

    Parameters
    ----------
    estimator : estimator or Game
        An estimator of dpforest, fitted or not, or anything else that plays the game.
    epsilon, delta : float, optional
        The claim to be tested; by default what the ledger of a fit says.
    trials : int, default=20_000
        Fits, all in all.
    confidence : float, default=0.999
        Of the lower bound.
    pairs : sequence of Pair, optional
        Neighbouring tables; by default `dpforest.audit.worst_pairs` of the schema.
    random_state : int, optional
        Makes the audit repeatable; else noise comes from the operating system.
    progress : callable, optional
        Called with the number of fits just done, in place of a bar for who watches.

    Returns
    -------
    AuditReport

    Examples
    --------
    >>> from dpforest import RandomDecisionForestClassifier
    >>> from dpforest.audit import SMALL_SCHEMA, audit
    >>> forest = RandomDecisionForestClassifier(epsilon=1.0, n_estimators=1, max_depth=1)
    >>> report = audit(forest.set_params(schema=SMALL_SCHEMA), trials=800, random_state=0)
    >>> report.leaks
    False
    """
    if trials < LEAST_TRIALS:
        raise ValueError(f"trials must be at least {LEAST_TRIALS}, got {trials}")
    if not 0.5 <= confidence < 1.0:
        raise ValueError(f"confidence must lie between 0.5 and 1, got {confidence}")
    game: Game = EstimatorGame(estimator) if isinstance(estimator, PrivateEstimator) else estimator
    said = game.guarantee
    claim = Guarantee(
        said.epsilon if epsilon is None else float(epsilon),
        said.delta if delta is None else float(delta),
        said.protection,
        said.releasable,
    )
    with Bar(f"auditing {game.name}", trials, alone=True) as bar:
        play = _Play(game, claim, confidence, RandomBits(random_state), progress or bar.advance)
        if epsilon is not None and game.mu is not None:
            play.mu = mu_for(claim.epsilon, claim.delta)
        return play.run(tuple(pairs or game.pairs), trials)


class _Play:
    """One audit under way."""

    def __init__(
        self, game: Game, claim: Guarantee, confidence: float, bits: RandomBits, tick: Tick
    ) -> None:
        self.mu = game.mu
        self._game, self._claim, self._confidence = game, claim, confidence
        self._bits, self._tick = bits, tick

    def run(self, pairs: tuple[Pair, ...], trials: int) -> AuditReport:
        """Choose the pair, learn the event, count it."""
        each = trials // 2
        pair = pairs[0]
        if len(pairs) > 1:
            first = [self._learn(p, each // 4 // len(pairs)) for p in pairs]
            pair = pairs[int(np.argmax([event.promise for event in first]))]
        event = self._learn(pair, each // 4 if len(pairs) > 1 else each // 2)
        counted = each // 2
        releases = [self._releases(pair, which, counted)[0] for which in (0, 1)]
        return self._report(pair, event, releases, counted)

    def _learn(self, pair: Pair, trials: int) -> Event:
        (one, names), (other, more) = (self._releases(pair, which, trials) for which in (0, 1))
        one, other = _same_width(one, other)
        return learn_event(one, other, max(names, more, key=len), self._tell)

    @property
    def _tell(self) -> Tell:
        """What an event is judged by: mu where the claim is a Gaussian one, else epsilon."""
        if self.mu is not None:
            return partial(_tell_mu, confidence=WHILE_LEARNING)
        return partial(_tell_epsilon, delta=self._claim.delta, confidence=WHILE_LEARNING)

    def _releases(self, pair: Pair, which: int, trials: int) -> tuple[Releases, list[str]]:
        return self._game.release(pair, which, trials, self._bits, self._tick)

    def _report(
        self, pair: Pair, event: Event, releases: list[Releases], trials: int
    ) -> AuditReport:
        one, other = _same_width(*releases)
        happens = [event.happens(one), event.happens(other)]
        hits = int(happens[event.likelier].sum()), int(happens[1 - event.likelier].sum())
        bound = epsilon_bound(*hits, trials, delta=self._claim.delta, confidence=self._confidence)
        return AuditReport(
            name=self._game.name,
            claim=self._claim,
            confidence=self._confidence,
            epsilon_bound=float(bound),
            pair=pair.name,
            event=str(event),
            likelier=("without", "with")[event.likelier],
            hits=hits,
            trials=trials,
            claimed_mu=self.mu,
            mu_bound=float(mu_bound(*hits, trials, confidence=self._confidence)),
            scores=(event.score_of(one), event.score_of(other)),
        )


def _tell_epsilon(hits: Any, other: Any, n: int, delta: float, confidence: float) -> Any:
    return epsilon_bound(hits, other, n, delta=delta, confidence=confidence)


def _tell_mu(hits: Any, other: Any, n: int, confidence: float) -> Any:
    return mu_bound(hits, other, n, confidence=confidence)


def _same_width(one: Releases, other: Releases) -> tuple[Releases, Releases]:
    width = max(one.shape[1], other.shape[1])
    return _widened(one, width), _widened(other, width)


def _widened(releases: Releases, width: int) -> NDArray[np.float64]:
    missing = width - releases.shape[1]
    return np.pad(releases, ((0, 0), (0, missing)), constant_values=np.nan)

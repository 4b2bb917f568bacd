"""Replay: fit on a table, force the same outputs on its neighbour, and add up what they tell.

All that is random in a fit goes through one object (`dpforest.privacy.mechanisms.draws.Draws`). A
recording one draws as usual and writes down every release; a forcing one gives the same outcomes to
the fit on the neighbour and writes down the law that they would have had there. The log ratio of
the two probabilities of this way through the fit is exact, and so is the most that each release
could have told. What the two fits show must be the same, bit by bit.

**Secret coins.** Given the coins of all records, the law of a release is known, and what holds for
every value of the coins holds for their mixture. So coins are fixed: the records that the tables
share have the same ones in both, the others, which come last, have their own.

- *Dealing* each record to one tree: with the coins fixed, an odd record is in one tree, and only
  that tree's releases change. Parallel composition is found, not assumed.
- *Tickets* of persons: with the same tickets, the others keep the same records.
- *Samples* without replacement are the exception, as their guarantee is about the mixture. Let an
  odd record join tree t with chance p, and let L_t be the log ratio of the tree's outputs when it
  joins, against when it does not. Trees are independent given the rest, so the log ratio of the fit
  is that of all else plus the sum over trees of log(1 - p + p exp(L_t)): L_t is found by a fit in
  which the record joins tree t alone. Of several odd records all subsets are fitted. The most that
  a tree can tell follows from the most that each of these can, in the same way.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from dpforest.audit.replay_draws import (
    ForcedDraws,
    Joining,
    PartedError,
    RecordingDraws,
    Sample,
    Script,
    Seats,
)
from dpforest.audit.replay_losses import CERTAIN, Loss
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.shown import Shown
from dpforest.audit.worlds import Table
from dpforest.exceptions import BudgetExceededError, NoGuaranteeWarning
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.matrix_predictor import MatrixForestPredictor
from dpforest.privacy.accounts.ledger import Guarantee
from dpforest.privacy.accounts.spends import Cost, spends_of

Run = Callable[[Table, RecordingDraws], Shown]
"""Anything that is done with a table and draws, such as a chain of fits, and what it shows."""

MOST_ODD = 4  # odd records in samples: all their subsets are fitted
STRUCTURE = 0  # the seed of public structure where a model has none


class UnfinishedError(ValueError):
    """A chain of releases that cannot go on, for what was released: there is nothing to replay."""


def replay(
    estimator: PrivateEstimator | Run,
    table: Table,
    neighbour: Table,
    *,
    common: int | None = None,
    max_records_per_group: int | None = None,
    questions: Sequence[Any] = (),
    claim: float | None = None,
    seed: int = 0,
) -> ReplayReport:
    """Fit on a table, force the same outputs on a neighbour, and add up the loss.

    Parameters
    ----------
    estimator : estimator or callable
        With a declared schema. Or a function of a table and draws that fits models with these draws
        (``model._draws = draws``) and returns a `dpforest.audit.shown.Shown`: then the loss of all
        it does is held against the ledger of that.
    table, neighbour : Table
        Records in which they differ come last in both.
    common : int, optional
        How many records they share. By default all of the smaller table, and all but the last where
        they are equally large; to be given where persons are replaced.
    max_records_per_group : int, optional
        Where a function is given and persons are protected.
    questions : sequence of tables, optional
        Batches of records to ask the fitted model about, while its budget lasts.
    claim : float, optional
        The epsilon to hold a model to that claims nothing, such as a printed variant.
    seed : int
        Of the outputs. A replay follows one way; another seed follows another.

    Returns
    -------
    ReplayReport

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import RandomDecisionForestClassifier
    >>> from dpforest.audit import SMALL_SCHEMA, Table, replay
    >>> X, y = np.array([[0.1, 0], [0.9, 1], [0.4, 1]]), np.array([0, 1, 0])
    >>> forest = RandomDecisionForestClassifier(
    ...     epsilon=0.5, schema=SMALL_SCHEMA, n_estimators=3, max_depth=2
    ... )
    >>> report = replay(forest, Table(X[:2], y[:2]), Table(X, y))
    >>> report.holds, report.largest_pure_loss
    (True, 0.5)
    """
    run: Run
    if isinstance(estimator, PrivateEstimator):
        run, most = _Fit(estimator, questions), estimator.max_records_per_group
    else:
        run, most = estimator, max_records_per_group
    shared = _common(table, neighbour) if common is None else common
    play = _Play(run, shared, most, seed)
    record = play.fit(table)
    play.followed = record.script
    loss, each, leaks = play.compare(record, table, neighbour)
    cost = sum((entry.cost() for entry in record.shown.ledger.entries), start=Cost())
    pure_claim = float(cost.epsilon) if claim is None else claim
    worst = max(range(len(each)), key=lambda i: (each[i].mu_squared, each[i].largest), default=-1)
    where = record.script.releases[worst].label if each else "nothing was released"
    return ReplayReport(
        _guarantee(record.shown, claim),
        abs(float(loss.path)),
        loss.largest,
        pure_claim,
        math.sqrt(loss.mu_squared),
        cost.mu,
        f"{where} (release {worst + 1})" if each else where,
        len(record.script.releases),
        loss.delta,
        float(cost.delta),
        tuple(leaks),
    )


def _common(table: Table, neighbour: Table) -> int:
    sizes = len(table.y), len(neighbour.y)
    if sizes[0] != sizes[1]:
        return min(sizes)
    if table.groups is not None:
        raise ValueError(
            "where persons are replaced, say how many records the tables share, which come first: "
            "common=..."
        )
    return sizes[0] - 1


def _guarantee(shown: Shown, claim: float | None) -> Guarantee:
    if claim is not None:
        return Guarantee(claim, 0.0, shown.ledger.protection)
    if shown.ledger.guarantee is None:
        reasons = "; ".join(shown.ledger.reasons)
        raise ValueError(
            f"the model claims nothing ({reasons}): give the epsilon to hold it to, such as "
            "claim=1.0"
        )
    return shown.ledger.guarantee


@dataclass(frozen=True)
class _Fit:
    """A fit of an estimator, and batches of questions."""

    estimator: PrivateEstimator
    questions: Sequence[Any] = ()

    def __call__(self, table: Table, draws: RecordingDraws) -> Shown:
        model: PrivateEstimator = clone(self.estimator)
        seed = model.random_state if isinstance(model.random_state, int) else STRUCTURE
        model.set_params(random_state=seed, n_jobs=1, verbose=False)
        fit(model, table, draws)
        return Shown.of(model, answers=answers(model, self.questions))


def fit(model: PrivateEstimator, table: Table, draws: RecordingDraws) -> None:
    """Fit a model with draws that know what its ledger calls each release."""
    model._draws = draws
    draws.label = lambda: _latest(model)
    persons = {} if table.groups is None else {"groups": table.groups}
    model.fit(table.X, table.y, **persons)


def answers(model: PrivateEstimator, questions: Sequence[Any]) -> list[Any]:
    """What a model says to batches of questions, while its budget lasts."""
    private = isinstance(model, MatrixForestPredictor)
    found: list[Any] = []
    for question in questions:
        try:
            found.append(model.votes(question) if private else model.predict(question))
        except BudgetExceededError as error:
            found.append(str(error))
    return found


def _latest(model: PrivateEstimator) -> str:
    """What the ledger calls what was debited last."""
    labels = [spend.label for spend in spends_of(model.ledger_.entries[-1:])]
    return ", ".join(dict.fromkeys(labels))


@dataclass(frozen=True)
class _Record:
    """A fit: what was drawn, and what it shows."""

    script: Script
    shown: Shown


class _Play:
    """Fits of one replay."""

    def __init__(self, run: Run, common: int, most: int | None, seed: int) -> None:
        self._run, self._common, self._most, self._seed = run, common, most, seed
        self.followed: Script | None = None

    def fit(self, table: Table, joining: Joining | None = None) -> _Record:
        """Record a fit, or force the outputs of the one that is followed."""
        seats = Seats(len(table.y), self._common, self._most)
        draws = (
            RecordingDraws(self._seed, seats)
            if self.followed is None
            else ForcedDraws(self._seed + 1, seats, joining or Joining(), self.followed)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoGuaranteeWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # "fit failed after it had spent ..."
            shown = self._attempt(table, draws)
        return _Record(draws.script, shown)

    def _attempt(self, table: Table, draws: RecordingDraws) -> Shown:
        try:
            shown = self._run(table, draws)
            if isinstance(draws, ForcedDraws):
                draws.refuse_less()
        except (PartedError, UnfinishedError):
            raise
        except Exception as error:
            if not draws.script.releases:
                raise  # refused before anything was released
            if not isinstance(draws, ForcedDraws):
                error.add_note(f"it had made {len(draws.script.releases)} releases")
                raise
            kind = type(error).__name__
            raise PartedError(f"the fit fails with the neighbour only: {kind}") from error
        return shown

    def compare(
        self, record: _Record, table: Table, neighbour: Table
    ) -> tuple[Loss, list[Loss], list[str]]:
        """The loss in all, that of each release, and what leaks for certain."""
        leaks: list[str] = []
        try:
            other = self.fit(neighbour)
            leaks += _leaks(record, other)
            each = record.script.losses_to(other.script)
            alone = sum(each, Loss())
            loss = alone
            for t, (mine, its) in enumerate(
                zip(record.script.samples, other.script.samples, strict=True)
            ):
                tells = self._mixture(record, neighbour, its, t, alone, each, leaks)
                told = self._mixture(record, table, mine, t, Loss(), each, leaks)
                loss += Loss(tells.path - told.path, tells.up + told.down, tells.down + told.up)
        except PartedError as parted:
            return CERTAIN, [], [str(parted)]
        return (CERTAIN if leaks else loss), each, leaks

    def _mixture(
        self,
        record: _Record,
        table: Table,
        sample: Sample,
        t: int,
        alone: Loss,
        each: list[Loss],
        leaks: list[str],
    ) -> Loss:
        """What a tree tells of a table's odd records, over their coins, against none of them."""
        parts: list[tuple[float, Loss]] = []
        for chance, who in _subsets(sample):
            if not any(who):
                parts.append((chance, Loss()))
                continue
            fitted = self.fit(table, Joining(t, who))
            leaks += [leak for leak in _leaks(record, fitted) if leak not in leaks]
            losses = record.script.losses_to(fitted.script)
            parts.append((chance, sum(losses, Loss()) - alone))
            each[:] = [max(pair, key=lambda loss: loss.largest) for pair in zip(each, losses)]
        return Loss(
            _log_mean([(c, loss.path) for c, loss in parts]),
            _log_mean([(c, loss.up) for c, loss in parts]),
            -_log_mean([(c, -loss.down) for c, loss in parts]),
        )


def _subsets(sample: Sample) -> Iterator[tuple[float, tuple[bool, ...]]]:
    """All ways in which odd records can join a sample, with their probabilities."""
    chances = sample.odd_chances
    if len(chances) > MOST_ODD:
        raise ValueError(
            f"tables with more than {MOST_ODD} odd records cannot be replayed where trees draw "
            "samples: use fewer records a person"
        )
    for who in itertools.product((False, True), repeat=len(chances)):
        chance = math.prod(p if joins else 1 - p for p, joins in zip(chances, who, strict=True))
        if chance:
            yield float(chance), who


def _log_mean(parts: Sequence[tuple[float, Any]]) -> float:
    """log sum of chance * exp(value)."""
    return float(np.logaddexp.reduce([math.log(chance) + float(value) for chance, value in parts]))


def _leaks(record: _Record, other: _Record) -> list[str]:
    return [
        f"{name} differs though all outputs are the same"
        for name in record.shown.differences(other.shown)
    ]

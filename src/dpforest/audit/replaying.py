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

import math
from collections.abc import Sequence
from typing import Any

from dpforest.audit.chains import Chain
from dpforest.audit.exhaustive import claimed_by
from dpforest.audit.replay_fits import Play, Run
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.worlds import Table
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.accounts.spends import Cost


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
        With a declared schema. Or a `dpforest.audit.chains.Chain`, or another function of a table
        and draws that returns a `dpforest.audit.shown.Shown`: then the loss of all it does is held
        against the ledger of that.
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
        run, most = Chain(estimator, questions=questions), estimator.max_records_per_group
    else:
        run, most = estimator, max_records_per_group
    shared = _common(table, neighbour) if common is None else common
    play = Play(run, shared, most, seed)
    record = play.fit(table)
    play.followed = record.script
    loss, each, leaks = play.compare(record, table, neighbour)
    cost = sum((entry.cost() for entry in record.shown.ledger.entries), start=Cost())
    pure_claim = float(cost.epsilon) if claim is None else claim
    worst = max(range(len(each)), key=lambda i: (each[i].mu_squared, each[i].largest), default=-1)
    where = record.script.releases[worst].label if each else "nothing was released"
    return ReplayReport(
        claimed_by(record.shown.ledger, claim),
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
        record.shown.failure,
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

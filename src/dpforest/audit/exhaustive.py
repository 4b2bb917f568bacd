"""A proof by enumeration: every pair of neighbours in a small world, every possible release.

The estimator's own ``fit`` runs; only its draws are replaced by a script. Draws that are released
(choices by permute-and-flip or the exponential mechanism) are followed along every outcome, draws
that stay secret (to which tree a record is dealt) along every value, and discrete Laplace noise is
treated in closed form. So the exact distribution of the release is known for every table, in
decimal arithmetic of 60 digits, or, for Laplace noise, the exact loss as a fraction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest.audit.script import Branch, branches_of
from dpforest.audit.worlds import Table
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.ledger import Guarantee

Record = tuple[Any, ...]
World = tuple[Record, ...]

SLACK = 1e-12  # a claim is a float; the losses behind it are known to many more digits
MOST_OUTCOMES = 1 << 14


@dataclass(frozen=True)
class ExhaustiveReport:
    """The largest loss over all pairs of neighbours and all releases.

    Parameters
    ----------
    claim : Guarantee
    worst_loss : float
        The largest absolute log ratio of the probabilities of a release.
    pair : tuple
        Two neighbouring tables that attain it.
    n_tables, n_pairs : int
        What was enumerated.
    """

    claim: Guarantee
    worst_loss: float
    pair: tuple[World, World]
    n_tables: int
    n_pairs: int

    @property
    def holds(self) -> bool:
        """Whether no pair and no release breaks the claim."""
        return self.worst_loss <= self.claim.epsilon * (1 + SLACK) + SLACK

    def __str__(self) -> str:
        """The report in lines."""
        verdict = "holds" if self.holds else "BROKEN"
        return (
            f"{verdict}: {self.claim}\n"
            f"  worst loss {self.worst_loss:.12g} over {self.n_pairs:,} pairs of "
            f"{self.n_tables:,} tables, attained between {self.pair[0]} and {self.pair[1]}"
        )


def exhaust(
    estimator: PrivateEstimator, records: Sequence[Record], *, most: int = 4
) -> ExhaustiveReport:
    """Check a forest on all tables of up to so many records.

    Parameters
    ----------
    estimator : estimator
        With a declared schema and a purely epsilon-private release. Its ``random_state`` fixes
        the public structure.
    records : sequence of tuple
        The world: feature values, then the target.
    most : int
        The size of the largest table; tables are multisets of records.

    Returns
    -------
    ExhaustiveReport

    Examples
    --------
    >>> from dpforest import CategoricalFeature, RandomDecisionForestClassifier, Schema, Target
    >>> forest = RandomDecisionForestClassifier(
    ...     epsilon=0.5, n_estimators=1, max_depth=1, leaves="label", random_state=0,
    ...     schema=Schema((CategoricalFeature("a", (0, 1)),), Target(classes=(0, 1))),
    ... )
    >>> report = exhaust(forest, [(0, 0), (0, 1), (1, 0), (1, 1)], most=3)
    >>> report.holds, round(report.worst_loss, 9)
    (True, 0.5)
    """
    model: PrivateEstimator = clone(estimator).set_params(n_jobs=1, verbose=False)
    if model.random_state is None:
        model.set_params(random_state=0)
    worlds = [
        world
        for size in range(1, most + 1)
        for world in itertools.combinations_with_replacement(records, size)
    ]
    releases = {world: branches_of(model, _table(world)) for world in worlds}
    worst, where, n_pairs = -1.0, (worlds[0], worlds[0]), 0
    for one, other in _neighbours(worlds, records, model.neighbors):
        loss = worst_loss(releases[one], releases[other])
        n_pairs += 1
        if loss > worst:
            worst, where = loss, (one, other)
    guarantee = model.ledger_.guarantee
    assert guarantee is not None
    return ExhaustiveReport(guarantee, worst, where, len(worlds), n_pairs)


def worst_loss(one: Sequence[Branch], other: Sequence[Branch]) -> float:
    """The largest absolute log ratio of two distributions over all releases.

    Laplace noise of one scale on totals that differ by D in L1 norm: exactly D / scale, attained
    by releases beyond both totals. Independent choices: the largest ratios of each multiply.
    Mixtures over secret draws: by listing all outcomes.
    """
    if len(one) == len(other) == 1 and one[0].path == other[0].path:
        return _loss_of_products(one[0], other[0])
    first, second = _outcomes(one), _outcomes(other)
    never = Decimal(0)
    return max(
        abs(float(first.get(key, never).ln() - second.get(key, never).ln()))
        for key in first.keys() | second.keys()
    )


def _loss_of_products(one: Branch, other: Branch) -> float:
    if one.scale != other.scale:
        return math.inf
    if one.scale is not None and one.totals is not None and other.totals is not None:
        distance = int(np.abs(one.totals - other.totals).sum())
        return float(Fraction(distance) / one.scale)
    up = down = Decimal(0)
    for row, other_row in zip(one.choices, other.choices, strict=True):
        ratios = [a.ln() - b.ln() for a, b in zip(row, other_row, strict=True)]
        up, down = up + max(ratios), down + max(-ratio for ratio in ratios)
    return float(max(up, down))


def _outcomes(branches: Sequence[Branch]) -> dict[tuple[Any, ...], Decimal]:
    """The probability of every release."""
    table: dict[tuple[Any, ...], Decimal] = {}
    for branch in branches:
        if branch.scale is not None:
            raise ValueError(
                "Laplace noise after secret or released draws has no finite list of outcomes: "
                "use leaves='label', or audit it statistically"
            )
        sizes = [range(len(row)) for row in branch.choices]
        if math.prod(map(len, sizes)) > MOST_OUTCOMES:
            raise ValueError("too many outcomes to list: use fewer trees or less depth")
        for picks in itertools.product(*sizes):
            weight = branch.weight
            for row, pick in zip(branch.choices, picks, strict=True):
                weight *= row[pick]
            key = (*branch.path, picks)
            table[key] = table.get(key, Decimal(0)) + weight
    return table


def _neighbours(
    worlds: Sequence[World], records: Sequence[Record], neighbors: str
) -> Iterator[tuple[World, World]]:
    known = set(worlds)
    order = {record: i for i, record in enumerate(records)}
    for world in worlds:
        removable = {()} if neighbors == "add_remove" else {(r,) for r in world}
        for gone, record in itertools.product(removable, records):
            kept = list(world)
            for r in gone:
                kept.remove(r)
            other = tuple(sorted((*kept, record), key=order.__getitem__))
            if other in known and other != world:
                yield world, other


def _table(world: World) -> Table:
    rows: NDArray[Any] = np.array(world)
    return Table(rows[:, :-1], rows[:, -1])

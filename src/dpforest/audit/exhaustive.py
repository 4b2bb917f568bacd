"""A proof by enumeration: every pair of neighbours in a small world, every possible release.

The estimator's own ``fit`` runs; only its draws are replaced by a script. Choices and uniform draws
are followed along every outcome, discrete Laplace noise is treated in closed form, and a release is
what the fitted model shows: draws that it does not show (to which tree a record is dealt) make a
mixture, and what it shows beside the draws (that a node became a leaf) counts as well. So the exact
distribution of the release is known for every table, in decimal arithmetic of 60 digits.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest.audit.games import is_releasable
from dpforest.audit.script import DIGITS, Way, branches_of
from dpforest.audit.worlds import Table
from dpforest.exceptions import NoGuaranteeWarning
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.accounts.ledger import Guarantee

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
        The largest absolute log ratio of the probabilities of a release; infinite where a
        release is possible with one table only.
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
            f"{self.n_tables:,} tables, attained between {_written(self.pair[0])} and "
            f"{_written(self.pair[1])}"
        )


def _written(world: World) -> str:
    """A table in a few words, however many records it has."""
    return " + ".join(f"{times} {record}" for record, times in Counter(world).items())


def exhaust(
    estimator: PrivateEstimator,
    records: Sequence[Record],
    *,
    least: int = 1,
    most: int = 4,
    claim: float | None = None,
) -> ExhaustiveReport:
    """Check a forest on all tables of up to so many records.

    Parameters
    ----------
    estimator : estimator
        With a declared schema, whose noise is discrete Laplace if it has any. Its
        ``random_state`` fixes the public structure.
    records : sequence of tuple
        The world: feature values, then the target.
    least, most : int
        The sizes of the smallest and the largest tables, which are multisets of records.
    claim : float, optional
        The epsilon to hold the forest to; by default its ledger's guarantee. Needed where there is
        none, as in ``variant="as_published"``.

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
    model: PrivateEstimator = clone(estimator).set_params(n_jobs=1, verbose=False, budget=None)
    if model.random_state is None:
        model.set_params(random_state=0)
    worlds = [
        world
        for size in range(least, most + 1)
        for world in itertools.combinations_with_replacement(records, size)
    ]
    with warnings.catch_warnings(), localcontext(prec=DIGITS):
        warnings.simplefilter("ignore", NoGuaranteeWarning)
        branches_of(model, _table(worlds[0]))
        claimed = replace(_claimed(model, claim), releasable=is_releasable(estimator))
        releases = {world: branches_of(model, _table(world)) for world in worlds}
        worst, where, n_pairs = -1.0, (worlds[0], worlds[0]), 0
        for one, other in _neighbours(worlds, records, model.neighbors):
            loss = worst_loss(releases[one], releases[other])
            n_pairs += 1
            if loss > worst:
                worst, where = loss, (one, other)
    return ExhaustiveReport(claimed, worst, where, len(worlds), n_pairs)


def _claimed(model: PrivateEstimator, claim: float | None) -> Guarantee:
    if claim is not None:
        return Guarantee(claim, 0.0, model.ledger_.protection)
    if model.ledger_.guarantee is None:
        reasons = "; ".join(model.ledger_.reasons)
        raise ValueError(
            f"the model claims nothing ({reasons}): give the epsilon to hold it to, such as "
            "claim=1.0"
        )
    return model.ledger_.guarantee


def worst_loss(one: Sequence[Way], other: Sequence[Way]) -> float:
    """The largest absolute log ratio of two distributions over all releases.

    Ways that look the same before their last release are one mixture. A mixture that is possible
    with one table only has an infinite loss.
    """
    first, second = _by_outcome(one), _by_outcome(other)
    if first.keys() != second.keys():
        return math.inf
    return max(_loss_of_mixtures(first[key], second[key]) for key in first)


def _by_outcome(branches: Sequence[Way]) -> dict[tuple[Any, ...], list[Way]]:
    mixtures: dict[tuple[Any, ...], list[Way]] = {}
    for branch in branches:
        mixtures.setdefault(branch.outcome, []).append(branch)
    return mixtures


def _loss_of_mixtures(one: Sequence[Way], other: Sequence[Way]) -> float:
    if len(one) == len(other) == 1:
        return _loss_of_products(one[0], other[0])
    grid = _grid([*one, *other])
    first, second = _likelihoods(one, grid), _likelihoods(other, grid)
    return max(float(abs(_log_ratio(a, b))) for a, b in zip(first, second, strict=True))


def _loss_of_products(one: Way, other: Way) -> float:
    """Independent releases: the largest ratios of each multiply.

    Laplace noise of one scale on totals that differ by D in L1 norm: exactly D / scale, either way,
    attained by releases beyond both totals.
    """
    up = _log_ratio(one.weight, other.weight)
    down = -up
    for row, other_row in zip(one.choices, other.choices, strict=True):
        ratios = [_log_ratio(a, b) for a, b in zip(row, other_row, strict=True)]
        up, down = up + max(ratios), down + max(-ratio for ratio in ratios)
    for noise, other_noise in zip(one.noises, other.noises, strict=True):
        distance = int(np.abs(noise.totals - other_noise.totals).sum()) / noise.scale
        loss = Decimal(distance.numerator) / Decimal(distance.denominator)
        up, down = up + loss, down + loss
    return float(max(up, down))


def _log_ratio(one: Decimal, other: Decimal) -> Decimal:
    if one == other:
        return Decimal(0)
    return one.ln() - other.ln()


def _grid(branches: Sequence[Way]) -> list[range]:
    """The outcomes of every choice, and of every noisy total the values worth a look.

    Beyond the smallest and the largest of its values in a mixture, all parts of the mixture fall at
    one rate, so that no ratio changes any more.
    """
    axes = [range(len(row)) for row in branches[0].choices]
    for i in range(len(branches[0].noises)):
        totals = np.array([branch.noises[i].totals.ravel() for branch in branches])
        axes += [range(a, b + 1) for a, b in zip(totals.min(0), totals.max(0), strict=True)]
    if math.prod(map(len, axes)) > MOST_OUTCOMES:
        raise ValueError("too many outcomes to list: use fewer trees or less depth")
    return axes


def _likelihoods(branches: Sequence[Way], grid: list[range]) -> list[Decimal]:
    """The likelihood of every release on the grid, up to the constant of the noise."""
    total = [Decimal(0)] * math.prod(map(len, grid))
    for branch in branches:
        tables = [*branch.choices, *_noise_tables(branch, grid[len(branch.choices) :])]
        for i, factors in enumerate(itertools.product(*tables)):
            total[i] += math.prod(factors, start=branch.weight)
    return total


def _noise_tables(branch: Way, grid: list[range]) -> Iterator[list[Decimal]]:
    """exp(-abs(value - total) / scale) for the values of every noisy total."""
    values = iter(grid)
    for noise in branch.noises:
        step = (-Decimal(noise.scale.denominator) / Decimal(noise.scale.numerator)).exp()
        for total in noise.totals.ravel().tolist():
            yield [step ** abs(value - total) for value in next(values)]


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

"""A schema that is paid for: bounds, categories and classes read through noise.

Column names and column types are public by declaration. Every column is asked once, all columns
see all records, so the costs add up: each of k paid columns gets epsilon / k, and each of the c
columns whose categories are searched gets delta / c. Booleans and columns with a declared universe
cost nothing. With ``steps`` the number of single records between neighbours (`Protection`):

**Bounds** (epsilon-DP). A record falls into at most one cell of a public grid (sign and power of
two), so the counts change by at most ``steps`` in L1 norm, and discrete Laplace noise of scale
steps / epsilon makes all of them epsilon-DP together. The bounds are computed from the noisy
counts: from the lowest to the highest cell that stands out of the noise.

**Categories and classes** ((epsilon, delta)-DP). Only values that occur are counted; a value is
released when its count plus discrete Laplace noise of scale s reaches a threshold t. Add one
record to D, of value v. If v occurs in D, its noisy count costs 1/s, and the other counts do not
change. If it does not, then the outcomes agree unless v is released, which has probability
P(1 + noise >= t) <= exp(-(t - 1)/s) =: d. So one record costs (1/s, d). With s = steps / epsilon,
``steps`` records cost (epsilon, d * (1 + e^(1/s) + ... + e^((steps-1)/s))) by group privacy, and
t is chosen to make that delta. Values are released in sorted order, which tells nothing more.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.ledger import Approximate, Ledger, Protection, Pure, Spend
from dpforest.privacy.accounts.protection import Neighbors
from dpforest.privacy.mechanisms.noise import discrete_laplace, laplace_scale
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.records.observe import (
    N_MAGNITUDES,
    level_counts,
    magnitude,
    magnitude_counts,
    split_target,
)
from dpforest.schema import Task
from dpforest.schema.categories import Category, distinguishable
from dpforest.schema.features import (
    MAX_CATEGORIES,
    CategoricalFeature,
    Feature,
    NumericFeature,
    Target,
)
from dpforest.tables.columns import Column

FALSE_ALARM = 0.01  # chance that an empty cell stands out, over all cells of a column


@dataclass(frozen=True)
class _Question:
    """A column that must be asked, and for what."""

    name: str
    searches: bool  # categories or classes, rather than bounds


def infer_schema(
    X: Any,
    target: Any,
    *,
    epsilon: float,
    delta: float,
    universe: Mapping[str, Sequence[Category]],
    task: Task,
    neighbors: Neighbors,
    random_state: int | None,
) -> tuple[tuple[Feature, ...], Target | None, Ledger]:
    """Describe a table for a price; `Schema.infer` has the parameters."""
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, got {epsilon}")
    bits = RandomBits(random_state)
    ledger = Ledger(epsilon, delta, Protection(neighbors), reproducible_noise=bits.reproducible)
    frame, label = split_target(X, target)
    columns = {name: frame.series(j) for j, name in enumerate(frame.labels())}
    _check_universe(universe, [*columns, *([label[1]] if label else [])])

    questions = [
        _Question(name, searches=column.kind == "texts")
        for name, column in columns.items()
        if name not in universe and column.kind != "booleans"
    ]
    classes = label is not None and _wants_classes(label[0], task)
    if label is not None and label[1] not in universe:
        column, name = label
        if not (classes and column.kind == "booleans"):
            questions.append(_Question(name, searches=classes))
    inference = _Inference(ledger, bits, questions)

    # The target goes first: without it the rest is not worth paying for.
    described = None if label is None else _target(inference, *label, classes, universe)
    features = [_feature(inference, name, column, universe) for name, column in columns.items()]
    found = tuple(feature for feature in features if feature is not None)
    if not found:
        raise SchemaError(
            "no column has a category that stands out of the noise; what was asked is spent. "
            "Declare the categories (universe={'column': [...]}), or give a larger epsilon"
        )
    return found, described, ledger


class _Inference:
    """Shares the budget out evenly and asks one question a column."""

    def __init__(self, ledger: Ledger, bits: RandomBits, questions: list[_Question]) -> None:
        searched = [question.name for question in questions if question.searches]
        if searched and not ledger.budget_delta:
            names = ", ".join(repr(name) for name in searched)
            raise ValueError(
                f"delta must be above 0 to search the categories of {names}: give delta=1e-6, say "
                "(well below one over the number of records), or declare the categories in universe"
            )
        self.ledger = ledger
        self._bits = bits
        self._epsilon = Fraction(ledger.budget_epsilon) / max(1, len(questions))
        self._delta = Fraction(ledger.budget_delta) / max(1, len(searched))

    def bounds(self, name: str, column: Column) -> tuple[float, float]:
        """Return powers of two (or 0) between which most values lie; epsilon-DP, see the module."""
        scale, spent = laplace_scale(self._epsilon, self.ledger.protection.steps)
        self.ledger.debit(Spend(f"bounds of {name!r}", "discrete Laplace", Pure(spent)))
        noisy = self._noisy(magnitude_counts(column), scale)
        # Of m empty cells, one reaches t with probability at most m exp(-t / scale).
        stands_out = noisy >= float(scale) * math.log(noisy.size / FALSE_ALARM)
        if not stands_out.any():
            self.ledger.note(f"{name!r}: no range stood out of the noise, its bounds are a guess")
            stands_out = noisy == noisy.max()
        cells = np.flatnonzero(stands_out) - N_MAGNITUDES
        return _bounds_of(int(cells[0]), int(cells[-1]))

    def levels(self, name: str, column: Column, most: int | None) -> tuple[Category, ...]:
        """Return the values whose noisy count reaches a threshold; see the module for the proof."""
        steps = self.ledger.protection.steps
        scale, spent = laplace_scale(self._epsilon, steps)
        loss = Approximate(spent, self._delta)
        self.ledger.debit(Spend(f"categories of {name!r}", "discrete Laplace, threshold", loss))
        levels, counts = level_counts(column)
        noisy = self._noisy(counts, scale)
        kept = np.flatnonzero(noisy >= category_threshold(scale, self._delta, steps))
        if most is not None and kept.size > most:
            kept = np.sort(kept[np.argsort(-noisy[kept], kind="stable")[:most]])
        return distinguishable(levels[i] for i in kept)

    def _noisy(self, counts: NDArray[np.int64], scale: Fraction) -> NDArray[np.int64]:
        return counts + discrete_laplace(scale, counts.size, self._bits)


def category_threshold(scale: Fraction, delta: Fraction, steps: int) -> int:
    """Return the noisy count from which a category may be named.

    Examples
    --------
    >>> category_threshold(Fraction(10), Fraction(1, 10**6), steps=1)
    141
    """
    # The group-privacy sum is over powers of e^(1/scale); one more record covers rounding.
    group = math.fsum(math.exp(i / float(scale)) for i in range(steps))
    return 2 + math.ceil(float(scale) * math.log(group / float(delta)))


def _feature(
    inference: _Inference, name: str, column: Column, universe: Mapping[str, Sequence[Category]]
) -> Feature | None:
    if name in universe:
        return CategoricalFeature(name, tuple(universe[name]))
    if column.kind == "booleans":
        return CategoricalFeature(name, (False, True))
    if column.kind == "texts":
        categories = inference.levels(name, column, MAX_CATEGORIES)
        if categories:
            return CategoricalFeature(name, categories)
        inference.ledger.note(f"{name!r} was left out: no category stood out of the noise")
        return None
    low, high = inference.bounds(name, column)
    if column.kind == "integers":
        return NumericFeature(name, math.floor(low), math.ceil(high), integer=True)
    return NumericFeature(name, low, high)


def _target(
    inference: _Inference,
    column: Column,
    name: str,
    classes: bool,
    universe: Mapping[str, Sequence[Category]],
) -> Target:
    if name in universe:
        return Target(name, classes=tuple(universe[name]))
    if not classes:
        low, high = inference.bounds(name, column)
        return Target(name, low=low, high=high)
    if column.kind == "booleans":
        return Target(name, classes=(False, True))
    found = inference.levels(name, column, None)
    if len(found) < 2:
        raise SchemaError(
            f"target {name!r}: fewer than two classes stand out of the noise; epsilon = "
            f"{inference.ledger.epsilon:.3g} is spent. Declare the classes "
            f"(universe={{{name!r}: [...]}}), or give a larger epsilon"
        )
    return Target(name, classes=found)


def _wants_classes(column: Column, task: Task) -> bool:
    return task == "classification" or (task == "auto" and column.kind != "reals")


def _check_universe(universe: Mapping[str, Sequence[Category]], names: list[str]) -> None:
    unknown = [name for name in universe if name not in names]
    if unknown:
        raise ValueError(f"universe: no such columns: {unknown}; columns are {names}")


def _bounds_of(first: int, last: int) -> tuple[float, float]:
    """Return the outer edges of two cells of `magnitude_counts`, counted from the cell of zero."""
    low = magnitude(first - 1) if first > 0 else -magnitude(-first)
    high = magnitude(last) if last >= 0 else -magnitude(-last - 1)
    return low, high if low < high else low + 1.0

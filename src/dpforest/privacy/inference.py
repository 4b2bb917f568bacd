"""A schema that is paid for: types, bounds, categories and classes read through noise.

Public by declaration are the names of the columns, the declared types and universes, and with them
which columns are asked what for how much (`inference_plan`). All columns see all records, so their
costs add up. Within a column the kind decides the second question: that is adaptive composition of
two fixed prices, debited together before the column is read. What a value counts as depends on that
value alone (`dpforest.records.value_counts`), so one record changes one count of each question by
one, or none. With ``steps`` the number of single records between neighbours (`Protection`; of each
person at most ``max_records_per_group`` records are kept, drawn by tickets of their own, so that
what is kept of the others can be taken to be the same in both tables):

**Kinds and bounds** (epsilon-DP). The cells are public (boolean, whole, fraction, text; sign and
power of two) and a record is in at most one, so the counts change by at most ``steps`` in L1 norm,
and discrete Laplace noise of scale s = steps / epsilon makes all of them epsilon-DP together. The
rest follows from the noisy counts: a column is what most of its values are, a number unless texts
or booleans are more, an integer unless fractions stand out of the noise; bounds go from the lowest
to the highest cell that stands out.

**Categories and classes** ((epsilon, delta)-DP). Only values that occur are counted; a value is
released when its count plus discrete Laplace noise of scale s reaches a threshold t. Let D' be D
and one more record, of value v. If v occurs in D, its noisy count costs 1/s, and the other counts
do not change. If it does not, then the outcomes agree unless v is released from D', which has the
probability P(1 + noise >= t) <= exp(-(t - 1)/s) =: d; so the probability of no event differs by
more than d, in either direction. One record, added or removed, costs (1/s, d) in both cases.
Neighbours are ``steps`` such records apart, added or removed in any order and of any values (one
value ``steps`` times, or as many new ones): by group privacy they cost ``steps`` / s = epsilon and
d * (1 + e^(1/s) + ... + e^((steps-1)/s)), and t is chosen to make that delta. Values are released
in sorted order, which tells nothing more.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace
from dpforest.privacy.accounts.protection import Neighbors
from dpforest.privacy.accounts.reservation import Use, settle
from dpforest.privacy.accounts.spends import Cost, exact
from dpforest.privacy.inference_opening import (
    Universe,
    bounded,
    check_universe,
    declared_types,
    protection_of,
    read_columns,
)
from dpforest.privacy.inference_plan import (
    Question,
    feature_question,
    share_out,
    target_question,
)
from dpforest.privacy.inference_rules import (
    bounds_of_counts,
    category_threshold,
    kind_of_counts,
)
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.value_counts import AnyColumn, kind_counts, level_counts, magnitude_counts
from dpforest.schema import Task
from dpforest.schema.categories import Category, distinguishable
from dpforest.schema.column_types import ColumnType, Types
from dpforest.schema.features import (
    MAX_CATEGORIES,
    CategoricalFeature,
    Feature,
    NumericFeature,
    Target,
)


def infer_schema(
    X: Any,
    target: Any,
    *,
    epsilon: float,
    delta: float,
    types: Types,
    universe: Universe,
    task: Task,
    neighbors: Neighbors,
    groups: Any,
    max_records_per_group: int | None,
    random_state: int | None,
    budget: Budget | str | PathLike[str] | None = None,
    draws: Draws | None = None,
) -> tuple[tuple[Feature, ...], Target | None, Ledger]:
    """Describe a table for a price; `Schema.infer` has the parameters.

    An auditor gives the draws.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, got {epsilon}")
    if task not in get_args(Task):
        raise ValueError(f"task is {task!r}, expected one of {get_args(Task)}")
    draws = draws or Draws(random_state)
    protection = protection_of(neighbors, groups, max_records_per_group)
    asked = (epsilon, delta) if budget is None else (exact(epsilon), exact(delta, "delta"))
    ledger = Ledger(*asked, protection, draws.reproducible, kind="schema")
    if budget is not None:
        most = Cost({asked[0]: 1}, delta=asked[1])
        ledger = Use(Budget.open(budget), "schema", asked, most).begin(ledger)
    try:
        found = _inferred(ledger, draws, X, target, types, universe, task, groups)
    except BaseException:
        settle(ledger, "failed")
        raise
    settle(ledger, "released")
    return found


def _inferred(
    ledger: Ledger,
    draws: Draws,
    X: Any,
    target: Any,
    types: Types,
    universe: Universe,
    task: Task,
    groups: Any,
) -> tuple[tuple[Feature, ...], Target | None, Ledger]:
    columns, label = read_columns(X, target, groups)
    check_universe(universe, list(columns), label)
    known = declared_types(types, X, target, list(columns))
    if groups is not None:
        most = ledger.protection.max_records_per_group
        columns = bounded(columns, X, groups, most, draws)
    questions = [
        target_question(name, known.get(name), task)
        if name == label
        else feature_question(name, known.get(name))
        for name in columns
        if name not in universe
    ]
    asked = [question for question in questions if question is not None]
    inference = _Inference(ledger, draws, asked)
    try:
        return _describe(inference, columns, label, universe)
    except SchemaError:
        raise  # says it already
    except BaseException as error:
        error.add_note(f"the schema is not finished: {inference.spent()}")
        raise


def _describe(
    inference: "_Inference", columns: Mapping[str, AnyColumn], label: str | None, universe: Universe
) -> tuple[tuple[Feature, ...], Target | None, Ledger]:
    # The target goes first: without it the rest is not worth paying for.
    target = None if label is None else _target(inference, label, columns[label], universe)
    found = tuple(
        feature
        for name, column in columns.items()
        if name != label and (feature := _feature(inference, name, column, universe)) is not None
    )
    if not found:
        raise SchemaError(
            "no column has a range or a category that stands out of the noise; "
            f"{inference.spent()}. Declare types and categories (types={{'column': 'integer'}}, "
            "universe={'column': [...]}), ask fewer columns, or give a larger epsilon"
            + ("" if target is None else f". {_in_words(target)}")
        )
    return found, target, inference.ledger


def _in_words(target: Target) -> str:
    if target.classes is None:
        return f"The target was found between {target.low} and {target.high}"
    return f"The target was found to have the classes {', '.join(map(str, target.classes))}"


class _Inference:
    """Asks what a column is, and then for its bounds or categories: debit, count, add noise."""

    def __init__(self, ledger: Ledger, draws: Draws, questions: Sequence[Question]) -> None:
        self.ledger = ledger
        self._draws = draws
        self._questions = {question.name: question for question in questions}
        self._prices = share_out(questions, ledger)

    def spent(self) -> str:
        """Say what is spent so far."""
        return f"epsilon = {self.ledger.epsilon:.3g} is spent, and delta = {self.ledger.delta:.3g}"

    def kind(self, name: str, column: AnyColumn) -> ColumnType | None:
        """Debit a column and return its type, or None when no kind stands out; epsilon-DP."""
        if name not in self._questions:
            return "boolean"  # the one declared type of which there is nothing to ask
        price = self._prices[name]
        self.ledger.debit(price.entry)
        if price.kind_scale is None:
            return self._questions[name].declared
        return kind_of_counts(self._noisy(kind_counts(column), price.kind_scale), price.kind_scale)

    def wants_classes(self, name: str, kind: ColumnType | None) -> bool:
        """Tell whether a target of this type has classes, by what may be asked of it."""
        question = self._questions.get(name)
        if question is None or not question.ranges:
            return True
        return question.searches and kind != "number"

    def bounds(self, name: str, column: AnyColumn) -> tuple[float, float] | None:
        """Return powers of two (or 0) between which most values lie; epsilon-DP, see the module."""
        scale = self._prices[name].scale
        noisy = self._noisy(magnitude_counts(column), scale)
        return bounds_of_counts(noisy, scale)

    def levels(
        self, name: str, column: AnyColumn, kind: ColumnType, most: int | None
    ) -> tuple[Category, ...]:
        """Return the values whose noisy count reaches a threshold; see the module for the proof."""
        price = self._prices[name]
        levels, counts = level_counts(column, numbers=kind in ("integer", "number"))
        threshold = category_threshold(price.scale, price.delta, self.ledger.protection.steps)
        self._draws.looked()
        noisy = self._draws.count_levels(self._noise(price.scale), levels, counts, threshold)
        kept = np.flatnonzero(noisy >= threshold)
        if most is not None and kept.size > most:
            kept = np.sort(kept[np.argsort(-noisy[kept], kind="stable")[:most]])
        return distinguishable(levels[i] for i in kept)

    def _noisy(self, counts: NDArray[np.int64], scale: Fraction) -> NDArray[np.int64]:
        self._draws.looked()
        return self._draws.add_noise(self._noise(scale), counts)

    def _noise(self, scale: Fraction) -> AdditiveNoise:
        return AdditiveNoise(DiscreteLaplace(scale, self.ledger.protection.steps))


def _feature(
    inference: _Inference, name: str, column: AnyColumn, universe: Universe
) -> Feature | None:
    if name in universe:
        return CategoricalFeature(name, tuple(universe[name]))
    kind = inference.kind(name, column)
    if kind == "boolean":
        return CategoricalFeature(name, (False, True))
    if kind == "category":
        categories = inference.levels(name, column, kind, MAX_CATEGORIES)
        if categories:
            return CategoricalFeature(name, categories)
        what = "category"
    else:
        bounds = None if kind is None else inference.bounds(name, column)
        if bounds is not None:
            return _numeric(name, *bounds, integer=kind == "integer")
        what = "kind of value" if kind is None else "range"
    inference.ledger.note(f"{name!r} was left out: no {what} stood out of the noise")
    return None


def _numeric(name: str, low: float, high: float, integer: bool) -> NumericFeature:
    if integer:
        return NumericFeature(name, math.floor(low), math.ceil(high), integer=True)
    return NumericFeature(name, low, high)


def _target(inference: _Inference, name: str, column: AnyColumn, universe: Universe) -> Target:
    if name in universe:
        return Target(name, classes=tuple(universe[name]))
    kind = inference.kind(name, column)
    if kind is None:
        _give_up(
            inference, name, "no kind of value stands out", "type (types={{{!r}: 'category'}})"
        )
    if not inference.wants_classes(name, kind):
        bounds = inference.bounds(name, column)
        if bounds is None:
            _give_up(inference, name, "no range stands out", "bounds in a schema")
        return Target(name, low=bounds[0], high=bounds[1])
    if kind == "boolean":
        return Target(name, classes=(False, True))
    found = inference.levels(name, column, kind, None)
    if len(found) < 2:
        _give_up(
            inference,
            name,
            "fewer than two classes stand out",
            "classes (universe={{{!r}: [...]}})",
        )
    return Target(name, classes=found)


def _give_up(inference: _Inference, name: str, why: str, remedy: str) -> NoReturn:
    raise SchemaError(
        f"target {name!r}: {why} of the noise; {inference.spent()}. Declare the "
        f"{remedy.format(name)}, or give a larger epsilon"
    )

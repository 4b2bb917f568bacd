"""What is audited: something that releases numbers about a table, again and again.

An estimator is fitted many times on the same table. Its structure is public, so all fits share
one structure (one ``random_state``) and differ in their secret noise alone: the guarantee must hold
for every structure. The table is opened and checked once; the rest of ``fit`` runs each time, the
same code that users run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from dpforest.audit.events import Releases
from dpforest.audit.worlds import SMALL_REGRESSION, SMALL_SCHEMA, Pair, Table, worst_pairs
from dpforest.exceptions import NoGuaranteeWarning, PrivacyLeakWarning, SchemaError
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.parameters import check_delta, check_epsilon
from dpforest.privacy.accounts.ledger import Guarantee
from dpforest.privacy.accounts.opening import open_ledger
from dpforest.privacy.accounts.spends import Cost
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.schema import Schema

Tick = Callable[[int], None]
Part = tuple[str, int]
"""The name of some numbers of a release, and how many they are."""

STRUCTURE = 1  # the seed of the public structure, where the estimator names none
MOST_OF_AN_ARRAY = 2048
MOST_QUESTIONS = 4


class Game(Protocol):
    """Something that can be asked for releases on neighbouring tables."""

    @property
    def name(self) -> str:
        """What is audited."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What is claimed of it."""
        ...

    @property
    def mu(self) -> float | None:
        """The claim as a Gaussian one, where all of it is."""
        ...

    @property
    def pairs(self) -> Sequence[Pair]:
        """Neighbouring tables to try."""
        ...

    def release(
        self, pair: Pair, which: int, trials: int, bits: RandomBits, tick: Tick
    ) -> tuple[Releases, list[str]]:
        """Independent releases on a table of a pair, a row each, and what the numbers are."""
        ...


class EstimatorGame:
    """An estimator, fitted again and again.

    Parameters
    ----------
    estimator : estimator of dpforest
        Fitted or not; it is left as it is.
    """

    mu: float | None = None

    def __init__(self, estimator: PrivateEstimator) -> None:
        self.name = type(estimator).__name__
        seed = estimator.random_state
        self._model: PrivateEstimator = clone(estimator).set_params(
            random_state=seed if isinstance(seed, int) else STRUCTURE,
            n_jobs=1,
            verbose=False,
            budget=None,
        )
        self._schema = _schema_of(estimator)
        self._releasable = is_releasable(estimator)
        budget = self._budget()
        self.pairs = worst_pairs(self._schema, budget.protection)
        self.guarantee = budget if self._model.schema is None else self._claim(budget)

    def release(
        self, pair: Pair, which: int, trials: int, bits: RandomBits, tick: Tick
    ) -> tuple[Releases, list[str]]:
        """Fit on the table so many times, and write down all that each fit made public."""
        model: PrivateEstimator = clone(self._model)
        model._open = _Reopening(model, Draws(bits))  # type: ignore[method-assign]
        table, questions = pair.tables[which], _questions(pair)
        rows: list[NDArray[np.float64]] = []
        longest: list[Part] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            warnings.simplefilter("ignore", NoGuaranteeWarning)
            for _ in range(trials):
                row, found = self._fit_once(model, table, questions)
                rows.append(row)
                longest = max(longest, found, key=_width)
                tick(1)
        return stacked(rows), [f"{name}[{i}]" for name, size in longest for i in range(size)]

    def _fit_once(
        self, model: PrivateEstimator, table: Table, questions: NDArray[Any]
    ) -> tuple[NDArray[np.float64], list[Part]]:
        try:
            _fit(model, table)
        except SchemaError:
            # Where the schema is read from the data, being refused tells something as well.
            if model.schema is not None:
                raise
            return np.empty(0), []
        return _published(model, questions)

    def _budget(self) -> Guarantee:
        model = self._model
        protection = model._protection(groups=model.max_records_per_group)
        epsilon, delta = check_epsilon(model.epsilon), check_delta(getattr(model, "delta", 0.0))
        return Guarantee(float(epsilon), float(delta), protection, self._releasable)

    def _claim(self, budget: Guarantee) -> Guarantee:
        """What the ledger says after a fit and its predictions; the budget without a guarantee.

        Predictions may cost something as well, where an estimator answers batches of questions.
        """
        model: PrivateEstimator = clone(self._model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoGuaranteeWarning)
            _fit(model, self.pairs[0].one)
            _published(model, _questions(self.pairs[0]))
        total = sum((entry.cost() for entry in model.ledger_.entries), start=Cost())
        if total.mu_squared and not total.epsilon and not total.delta:
            self.mu = total.mu
        if model.ledger_.guarantee is None:
            return budget
        # The audit's own seed fixes the structure; whether the model had one is another matter.
        return replace(model.ledger_.guarantee, releasable=self._releasable)


class _Reopening:
    """Stands in for ``_open``: checks the table once, then hands out the same records anew."""

    def __init__(self, model: PrivateEstimator, draws: Draws) -> None:
        self._model = model
        self._draws = draws
        self._opened: Desk | None = None

    def __call__(
        self, X: Any, y: Any, groups: Any, draws: Draws, sample_weight: Any = None
    ) -> Desk:
        model = self._model
        # A schema that is read, or a draw among a person's records, belongs to every fit.
        again = groups is not None or model.schema is None
        if self._opened is None or again:
            self._opened = type(model)._open(model, X, y, groups, self._draws, sample_weight)
            return self._opened
        model.ledger_ = open_ledger(
            model.schema_,
            model.epsilon,
            getattr(model, "delta", 0.0),
            model._protection(groups),
            self._draws.reproducible,
        )
        return self._opened.reopened(model.ledger_, self._draws)


def is_releasable(estimator: PrivateEstimator) -> bool:
    """Whether the noise of a model, or of one that would be fitted, is secret."""
    if hasattr(estimator, "ledger_"):
        return not estimator.ledger_.reproducible_noise
    paid = estimator.schema.ledger if isinstance(estimator.schema, Schema) else None
    return estimator.random_state is None and (paid is None or not paid.reproducible_noise)


def stacked(rows: Sequence[NDArray[np.float64]]) -> Releases:
    """Releases of any lengths as one array; what is absent is NaN."""
    widths = {len(row) for row in rows}
    if len(widths) == 1:
        return np.array(rows)
    out = np.full((len(rows), max(widths)), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def _width(parts: Sequence[Part]) -> int:
    return sum(size for _, size in parts)


def _fit(model: PrivateEstimator, table: Table) -> None:
    model.fit(table.X, table.y, **table.beside)


def _schema_of(estimator: PrivateEstimator) -> Schema:
    """The schema that worlds are made for: declared, or of the fitted model, or a small one."""
    declared = estimator.schema
    if isinstance(declared, dict):
        return Schema.from_dict(declared)
    if declared is not None:
        return declared
    small = SMALL_REGRESSION if is_regressor(estimator) else SMALL_SCHEMA
    return getattr(estimator, "schema_", small)


def _questions(pair: Pair) -> NDArray[Any]:
    """The distinct records of both tables: an attacker asks for the same predictions of either."""
    rows = {tuple(map(str, row)): row for table in pair.tables for row in table.X}
    return np.array([*list(rows.values())[:MOST_QUESTIONS], pair.other.X[-1]])


def _published(
    model: PrivateEstimator, probes: NDArray[Any]
) -> tuple[NDArray[np.float64], list[Part]]:
    """All numbers that a fitted model makes public, and what it predicts."""
    parts: dict[str, NDArray[Any]] = {}
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            array = np.asarray(value) if isinstance(value, int | float | np.ndarray) else None
            if array is not None and array.dtype.kind in "fiub":
                parts[name] = array
    parts |= {name: a for name, a in model._arrays().items() if a.dtype.kind in "fiub"}
    encoding = getattr(model, "encoding_", None)
    cuts = [c for c in encoding.cuts if c is not None] if encoding is not None else []
    parts["cuts"] = np.concatenate(cuts) if cuts else np.empty(0)
    ask = getattr(model, "predict_proba", None) or model.predict
    parts["prediction"] = np.asarray(ask(probes))
    kept = {name: array.reshape(-1)[:MOST_OF_AN_ARRAY] for name, array in parts.items()}
    row = np.concatenate([array.astype(np.float64) for array in kept.values()])
    return row, [(name, len(array)) for name, array in kept.items()]

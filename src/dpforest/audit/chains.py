"""A chain of releases about one table: a paid schema, a fit that fails, one that does not, answers.

Whoever sees the last model knows of all of them, so its ledger has to cover them all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone, is_regressor

from dpforest.audit.replay_draws import PartedError, RecordingDraws
from dpforest.audit.shown import Shown, digest
from dpforest.audit.worlds import Table
from dpforest.exceptions import BudgetExceededError, SchemaError
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.matrix_predictor import MatrixForestPredictor
from dpforest.privacy.accounts.spends import spends_of
from dpforest.privacy.inference import infer_schema
from dpforest.privacy.inference_opening import read_columns
from dpforest.schema import Schema

STRUCTURE = 0  # the seed of public structure where a model has none


class UnfinishedError(ValueError):
    """A chain that cannot go on, for what was released: there is nothing to replay."""


@dataclass(frozen=True)
class Chain:
    """To be given to `replay`, with a table and draws.

    Parameters
    ----------
    estimator : PrivateEstimator
        Its schema is declared, or None where it is to be inferred.
    inferred : dict
        What `Schema.infer` is told beside the table and who is protected, such as ``epsilon``.
    classes : tuple
        Of the target, where they are declared though the schema is inferred.
    fails_after : int
        Releases after which a first fit fails; 0 for none that does.
    fits : int
        How often it is fitted then: again where it goes on from the first.
    questions : sequence of tables
        Batches to ask the last model about.

    Examples
    --------
    >>> from dpforest import RandomDecisionForestClassifier
    >>> from dpforest.audit import replay
    >>> forest = RandomDecisionForestClassifier(epsilon=0.5, n_estimators=1, max_depth=1)
    >>> chain = Chain(forest, {"epsilon": 2.0, "types": {"x0": "integer"}}, classes=(0, 1))
    >>> X, y = [[i % 8] for i in range(60)], [i % 2 for i in range(60)]
    >>> report = replay(chain, Table(X, y), Table([*X, [7]], [*y, 1]))
    >>> report.holds, report.pure_claim
    (True, 2.5)
    """

    estimator: PrivateEstimator
    inferred: dict[str, Any] = field(default_factory=dict)
    classes: tuple[Any, ...] = ()
    fails_after: int = 0
    fits: int = 1
    questions: Sequence[Any] = ()

    def __call__(self, table: Table, draws: RecordingDraws) -> Shown:
        """Run the chain on a table."""
        model: PrivateEstimator = clone(self.estimator)
        seed = model.random_state if isinstance(model.random_state, int) else STRUCTURE
        model.set_params(random_state=seed, n_jobs=1, verbose=False, budget=None)
        seen: dict[str, Any] = {}
        if self.inferred:
            model.set_params(schema=self._infer(table, draws))
            seen["inferred schema"] = digest(model.schema)
        if self.fails_after:
            draws.interrupt_after = len(draws.script.releases) + self.fails_after
        failed = self._fit(model, table, draws) if self.fails_after else ""
        draws.interrupt_after = 0
        seen["failed fit"] = f"{failed} {model.ledger_.explain()}" if failed else ""
        # One that was to fail and came to its end is the first fit.
        for i in range(self.fits if failed or not self.fails_after else self.fits - 1):
            if model.__sklearn_is_fitted__():  # what is seen of it before it goes on
                seen[f"model {i}"] = Shown.of(model).parts
            failure = self._fit(model, table, draws)
            if failure:
                return Shown(model.ledger_, {n: digest(v) for n, v in seen.items()}, failure)
        return Shown.of(model, **seen, answers=answers(model, self.questions))

    def _infer(self, table: Table, draws: RecordingDraws) -> Schema:
        draws.label = lambda: "the schema"
        persons = self.estimator.max_records_per_group
        columns, target = read_columns(table.X, table.y)
        universe = {target: self.classes} if self.classes else {}
        task = "regression" if is_regressor(self.estimator) else "classification"
        told: dict[str, Any] = {"delta": 0.0, "types": {}, "universe": universe, "task": task}
        try:
            found = infer_schema(
                table.X,
                table.y,
                **{**told, **self.inferred},
                neighbors=self.estimator.neighbors,
                groups=table.groups,
                max_records_per_group=persons,
                random_state=None,
                draws=draws,
            )
        except SchemaError as error:
            raise UnfinishedError("nothing stood out of the noise") from error
        if len(found[0]) + 1 < len(columns):
            raise UnfinishedError("columns were left out: the table is not that of the schema")
        return Schema(*found)

    def _fit(self, model: PrivateEstimator, table: Table, draws: RecordingDraws) -> str:
        """Fit; gives the error where it failed after a release, which is an outcome like others."""
        released = len(draws.script.releases)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # it says what is spent
                fit(model, table, draws)
        except PartedError:
            raise
        except Exception as error:
            if len(draws.script.releases) > released:
                return repr(error)
            if self.inferred and isinstance(error, SchemaError):
                raise UnfinishedError("the table does not fit what was inferred of it") from error
            raise
        return ""


def fit(model: PrivateEstimator, table: Table, draws: RecordingDraws) -> None:
    """Fit a model with draws that know what its ledger calls each release."""
    model._draws = draws
    draws.label = lambda: _latest(model)
    model.fit(table.X, table.y, **table.beside)


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

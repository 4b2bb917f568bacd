"""The library broken on purpose, one thing at a time: what a replay must catch.

Each control replaces one honest function while it is tried, and is replayed on two tables that show
it; without the replacement the same replay holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from dpforest.audit.chains import Chain
from dpforest.audit.controls_questions import choices_for_one_record, one_more_person
from dpforest.audit.controls_rules import (
    numbers_for_one_record,
    one_more_with_numbers,
    one_more_with_rules,
    one_more_with_trees,
    rules_for_one_record,
    trees_for_one_record,
)
from dpforest.audit.controls_weights import one_heavy_record, unbounded_weights
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.worlds import SMALL_SCHEMA, Table
from dpforest.forests.boosted import PrivateForestClassifier
from dpforest.forests.greedy import GreedyForestClassifier
from dpforest.forests.matrix_predictor import MatrixForestPredictor
from dpforest.forests.random import RandomDecisionForestClassifier
from dpforest.privacy import inference, opening, workloads
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.opening import open_ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.populations import Cells, OwnLeaves
from dpforest.records import groups
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Target
from dpforest.tables import encode

Play = Callable[[], ReplayReport]
LARGE = 2**53


@dataclass(frozen=True)
class ReplayControl:
    """Something broken.

    Parameters
    ----------
    name, flaw : str
    breaking : callable
        Gives a context in which the library is broken.
    play : callable
        Replays two tables.
    """

    name: str
    flaw: str
    breaking: Callable[[], AbstractContextManager[Any]]
    play: Play

    def replay(self, *, broken: bool = True) -> ReplayReport:
        """Replay while it is broken, or as it should be."""
        with self.breaking() if broken else ExitStack():
            return self.play()


def replay_controls() -> dict[str, ReplayControl]:
    """Every control by its name."""
    one_more = _forest(), *_one_more([[0.1, 0.0]] * 4, [0] * 4, [0.9, 1.0], 1)
    gaussian = PrivateForestClassifier(schema=SMALL_SCHEMA, n_hint=5, n_estimators=1, max_depth=1)
    failed = Chain(_forest(), fails_after=1)
    listed = [
        ReplayControl(
            "third-of-a-sensitivity",
            "Laplace noise for a third of what a record changes",
            _third_of_a_sensitivity,
            lambda: replay(*one_more),
        ),
        ReplayControl(
            "third-of-a-sensitivity-gaussian",
            "Gaussian noise for a third of what a record changes",
            _third_of_a_sensitivity,
            lambda: replay(gaussian, *one_more[1:]),
        ),
        ReplayControl(
            "twice-the-sample",
            "a tree spends twice what its sample allows",
            _twice_the_sample,
            lambda: replay(_sampled(), *one_more[1:]),
        ),
        ReplayControl(
            "one-step",
            "a record that is replaced is paid for as if it were added",
            lambda: patch.object(Protection, "steps", 1),
            _replace_one,
        ),
        ReplayControl(
            "question-of-one-record",
            "the choice of a question takes a person for one record",
            choices_for_one_record,
            one_more_person,
        ),
        ReplayControl(
            "rule-of-one-record",
            "the choice of a rule takes a person for one record",
            rules_for_one_record,
            one_more_with_rules,
        ),
        ReplayControl(
            "number-of-one-record",
            "the choice of a number takes a person for one record",
            numbers_for_one_record,
            one_more_with_numbers,
        ),
        ReplayControl(
            "tree-of-one-record",
            "the choices of a greedy tree take a person for one record",
            trees_for_one_record,
            one_more_with_trees,
        ),
        ReplayControl(
            "marginal-of-leaves",
            "the marginal over nothing is the table of all leaves",
            _whole_table,
            _ask_about_leaves,
        ),
        ReplayControl(
            "type-of-the-column",
            "one text among the numbers of a column turns all of them into texts",
            lambda: patch.object(encode, "match_categories", _match_by_type),
            _one_text,
        ),
        ReplayControl(
            "type-of-the-persons",
            "persons are told apart in the type that all ids have",
            lambda: patch.object(groups, "person_keys", _codes_by_type),
            _one_odd_id,
        ),
        ReplayControl(
            "schema-for-free",
            "the ledger of a model leaves out what its schema cost",
            _without_schema,
            lambda: _fit_with_paid_schema("b"),
        ),
        ReplayControl(
            "forgotten-failure",
            "what a failed fit spent is forgotten by the next one",
            lambda: patch.object(Ledger, "failures", lambda self: None),
            lambda: replay(failed, *one_more[1:]),
        ),
        ReplayControl(
            "low-threshold",
            "a category is named from a noisy count of 1 on",
            lambda: patch.object(inference, "category_threshold", lambda *terms: 1),
            lambda: _fit_with_paid_schema("c"),
        ),
        ReplayControl(
            "exact-attribute",
            "an attribute of the model holds an exact number of records",
            _exact_attribute,
            lambda: replay(*one_more),
        ),
        ReplayControl(
            "weights-without-their-bound",
            "sample weights count as they are, whatever their bound",
            unbounded_weights,
            one_heavy_record,
        ),
    ]
    return {control.name: control for control in listed}


def _forest(**options: Any) -> RandomDecisionForestClassifier:
    shape = {"schema": SMALL_SCHEMA, "n_estimators": 1, "max_depth": 1, **options}
    return RandomDecisionForestClassifier(epsilon=1.0, **shape)


def _one_more(X: Any, y: Any, record: Any, label: Any) -> tuple[Table, Table]:
    more = [*X, record]
    return Table(np.array(X), np.array(y)), Table(np.array(more), np.array([*y, label]))


def _sampled() -> GreedyForestClassifier:
    # One tree whose only split tells nothing, so that leaves tell most of what may be told.
    return GreedyForestClassifier(
        epsilon=1.0,
        schema=SMALL_SCHEMA,
        n_estimators=1,
        max_depth=1,
        min_support=0,
        sampling="without_replacement",
        leaves="counts",
    )


@contextmanager
def _third_of_a_sensitivity() -> Iterator[None]:
    honest = AdditiveNoise.for_price

    def broken(price: Any, *, l1: Any, l2: float) -> AdditiveNoise:
        return honest(price, l1=Fraction(l1) / 3, l2=l2 / 3)  # type: ignore[arg-type]

    with patch.object(AdditiveNoise, "for_price", broken):
        yield


@contextmanager
def _twice_the_sample() -> Iterator[None]:
    honest = TreeSampling.within_tree

    def greedy(self: TreeSampling, *terms: Any) -> Any:
        return honest(self, *terms) * (2 if self.kind == "without_replacement" else 1)

    with patch.object(TreeSampling, "within_tree", greedy):
        yield


def _replace_one() -> ReplayReport:
    X, y = np.array([[0.1, 0.0]] * 4), np.array([0] * 4)
    forest = _forest(neighbors="replace_one")
    other = Table(np.vstack([X[:3], [[0.9, 1.0]]]), np.array([0, 0, 0, 1]))
    return replay(forest, Table(X, y), other)


@contextmanager
def _whole_table() -> Iterator[None]:
    honest = OwnLeaves.tables

    def tables(self: OwnLeaves, desk: Any, n_classes: int, wanted: Any) -> list[Any]:
        return honest(self, desk, n_classes, [(0,)]) * len(wanted)

    def measured(strategy: Any, tables: Any, n_classes: int) -> Any:
        return strategy.measure(tables)

    with patch.object(OwnLeaves, "tables", tables), patch.object(workloads, "measured", measured):
        yield


def _ask_about_leaves() -> ReplayReport:
    schema = Schema((CategoricalFeature("a", tuple(range(40))),), Target(classes=(0, 1)))
    predictor = MatrixForestPredictor(
        epsilon=1.0, schema=schema, n_estimators=1, max_depth=1, mode="subsample",
        strategy="residuals",
    )  # fmt: skip
    tables = _one_more([[0]] * 5, [0] * 5, [0], 0)
    return replay(predictor, *tables, questions=[[[0], [1]]])


def _match_by_type(
    column: Any, categories: Any, missing: int = -1, unseen: int = -1, n_jobs: int | None = None
) -> Any:
    if column.number_array() is not None:
        return _honest_match(column, categories, missing, unseen, n_jobs)
    written = {str(category): place for place, category in enumerate(categories)}
    return np.array([written.get(str(value), unseen) for value in column.to_numpy()], np.int32)


_honest_match = encode.match_categories


def _one_text() -> ReplayReport:
    schema = Schema((CategoricalFeature("a", (0, 1)),), Target(classes=("no", "yes")))
    rows, y = [[1.0]] * 8, np.array(["no"] * 9)
    one, other = Table(rows, y[:8]), Table([*rows, ["odd"]], y)  # type: ignore[arg-type]
    return replay(_forest(schema=schema, splits="multiway"), one, other)


def _codes_by_type(ids: Any) -> Any:
    return np.unique(np.asarray(ids), return_inverse=True)[1].astype(np.uint64)


def _one_odd_id() -> ReplayReport:
    ids, rows = [LARGE + i for i in range(8)], [[0.1, 0.0]] * 8
    forest = _forest(max_records_per_group=1)
    one = Table(rows, [0] * 8, ids)  # type: ignore[arg-type]
    other = Table([*rows, [0.9, 1.0]], [0] * 9, [*ids, 0.0])  # type: ignore[arg-type]
    return replay(forest, one, other)


@contextmanager
def _without_schema() -> Iterator[None]:
    honest = open_ledger

    def forgetful(schema: Schema, *terms: Any, **known: Any) -> Ledger:
        return honest(replace(schema, ledger=None), *terms, **known)

    with patch.object(opening, "open_ledger", forgetful):
        yield


def _fit_with_paid_schema(category: str) -> ReplayReport:
    """One more record of a category: a known one shows what counts cost, a new one thresholds."""
    paid = {"epsilon": 4.0, "delta": 1e-6, "types": {"x0": "category"}}
    forest = RandomDecisionForestClassifier(epsilon=0.1, n_estimators=1, max_depth=1)
    tables = _one_more([["a"]] * 40 + [["b"]] * 40, [0, 1] * 40, [category], 1)
    return replay(Chain(forest, paid, classes=(0, 1)), *tables)


@contextmanager
def _exact_attribute() -> Iterator[None]:
    honest = RandomDecisionForestClassifier._release

    def curious(self: Any, desk: Any) -> Any:
        (exact,) = Cells((), tuple(self.encoding_.n_bins)).tables(desk, len(self.classes_), [()])
        self.n_seen_ = int(exact.sum())
        return honest(self, desk)

    with patch.object(RandomDecisionForestClassifier, "_release", curious):
        yield

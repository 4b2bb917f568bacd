"""Random settings to replay: an estimator with any of its options, and two neighbouring tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from dpforest.audit.chains import Chain
from dpforest.audit.fuzz_containers import containers, put_columns, put_tables
from dpforest.audit.fuzz_tables import Record, Rng, draw_records, draw_schema, pick
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.small import public_estimators
from dpforest.audit.worlds import Table
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.mechanisms.strategies import STRATEGIES
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Feature, NumericFeature
from dpforest.trees.level_budgets import LEVEL_BUDGETS

EPSILONS = (0.05, 0.3, 1.0, 4.0, 12.0)
COUNTS = (1, 2, 3)
BOTH = (True, False)
SLOW = ("kronecker", "p_identity", "mixture")  # strategies that search longest in large domains
CHAINS = 0.15  # of the settings pay for their schema, and as many fail first
FIRST_CLASS = {"first class": 5.0}  # stands for a weight of the first class of a schema
FIRST_NUMBER = {"first number": 1}
CLASS_WEIGHTS = (None, None, "balanced", FIRST_CLASS)
WEIGHTS = (0.0, 0.1, 1, 2.5, 1e9)  # of records; those above the bound count as the bound
SHAPE: dict[str, tuple[Any, ...]] = {
    "n_estimators": (*COUNTS, "auto"),
    "max_depth": (*COUNTS, "auto"),
    "n_hint": (None, None, 3, 30, 5_000),
}
TREES: dict[str, tuple[Any, ...]] = {
    **SHAPE,
    "leaves": ("counts", "label"),
    "voting": ("averaging", "majority", "weighted", "probabilistic", "most_confident"),
    "max_bins": (2, 5, 16),
    "class_weight": CLASS_WEIGHTS,
}
MEDIAN: dict[str, tuple[Any, ...]] = {
    **SHAPE,
    "n_candidates": COUNTS,
    "rho": (0.3, 0.6),
    "splits": ("median", "median", "random"),
    "choice": ("attribute", "joint", "pay"),
    "sampling": ("disjoint", "shared"),
    "cuts": ("range", "grid"),
    "categories": ("subset", "one_vs_rest"),
    "max_bins": (2, 5, 16),
}
MATRIX: dict[str, tuple[Any, ...]] = {
    **SHAPE,
    "delta": (0.0, 1e-6, 1e-2),
    "n_ensembles": (1, 2, "auto"),
    "features_per_ensemble": (1, 2, "auto"),
    "strategy": ("auto", *STRATEGIES),
    "voting": ("log_odds", "weighted", "hard"),
    "max_bins": (2, 3, 5),
}
BOOSTED: dict[str, tuple[Any, ...]] = {
    "delta": (0.0, 1e-6, 1e-2),
    "n_estimators": (*COUNTS, 5),
    "max_depth": (*COUNTS, "auto"),
    "learning_rate": ("auto", 0.5),
    "trees_per_round": (1, 2, "auto"),
    "n_hint": SHAPE["n_hint"],
    "monotone_constraints": (None, FIRST_NUMBER),
    "warm_start": (False, False, True),
    "max_sample_weight": (None, None, 1.0, 7.5),
}
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "RandomDecisionForestClassifier": {
        **TREES,
        "splits": ("binary", "multiway"),
        "sampling": ("shared", "disjoint"),
        "pruning": (None, None, "snr"),
    },
    "GreedyForestClassifier": {
        **TREES,
        "min_support": (0.0, 1.0, 8.0),
        "splits": ("multiway", "binary"),
        "criterion": ("max", "gini", "information_gain", "f_max"),
        "n_bound": (2, 20, 100_000),
        "selection": ("permute_and_flip", "exponential"),
        "max_features": (None, 1, "sqrt"),
        "level_budget": LEVEL_BUDGETS,
        "align": BOTH,
        "stopping": ("candidate", "noisy_counts", None),
        "sampling": ("disjoint", "shared", "without_replacement", "without_replacement"),
        "sample_share": (0.5, 0.1, 0.9, 1.0),
        "second_phase": (0.0, 0.4),
    },
    "MedianForestClassifier": {
        **MEDIAN,
        "leaves": TREES["leaves"],
        "voting": TREES["voting"],
        "class_weight": CLASS_WEIGHTS,
    },
    "MedianForestRegressor": MEDIAN,
    "MatrixForestClassifier": {
        **MATRIX,
        "sampling": ("shared", "shared", "disjoint"),
        "cuts": ("schema", "quantiles"),
    },
    "MatrixForestPredictor": {
        **MATRIX,
        "mode": ("batch", "subsample"),
        "epsilon_per_batch": (None, 0.02, 0.3),
    },
    "PrivateForestClassifier": {**BOOSTED, "class_weight": CLASS_WEIGHTS},
    "PrivateForestRegressor": {
        **BOOSTED,
        "loss": ("squared", "absolute", "quantile"),
        "quantile": (0.5, 0.03, 0.9),
    },
    "PrivateIntervalRegressor": {**BOOSTED, "coverage": (0.9, 0.5, 0.99)},
}
"""What is drawn of the options of an estimator; one that is not named is fitted as it comes."""


@dataclass(frozen=True)
class Setting:
    """One thing to replay.

    Parameters
    ----------
    estimator : PrivateEstimator
    table, neighbour : Table
    common : int
        Records that both have, which come first.
    chain : Chain
        What is done with a table: a fit and batches of questions, more now and then.
    kind : str
        How the records lie, and what the tables are.
    seed : int
        Of the outputs.
    """

    estimator: PrivateEstimator
    table: Table
    neighbour: Table
    common: int
    chain: Chain
    kind: str
    seed: int

    def replay(self) -> ReplayReport:
        """Replay it."""
        return replay(
            self.chain,
            self.table,
            self.neighbour,
            common=self.common,
            max_records_per_group=self.estimator.max_records_per_group,
            seed=self.seed,
        )

    def __str__(self) -> str:
        """All that is needed to see it again."""
        tables = f"table:\n{self.table}\nneighbour:\n{self.neighbour}"
        chain = f"inferred {self.chain.inferred}, fails after {self.chain.fails_after}"
        return f"{self.estimator}\n{self.estimator.schema}\n{chain}\n{self.kind}\n{tables}"


def draw_setting(seed: int, number: int) -> Setting:
    """A setting by its number: the same again whenever it is asked for."""
    rng = np.random.default_rng([seed, number])
    name = pick(rng, sorted(public_estimators()))
    persons = int(pick(rng, (1, 2, 3))) if rng.random() < 0.3 else None
    estimator = _draw_estimator(rng, name, persons)
    schema = estimator.schema
    assert isinstance(schema, Schema)
    replaced = estimator.neighbors == "replace_one"
    records = draw_records(rng, schema, replaced=replaced, most_of_a_person=persons)
    kinds = [pick(rng, containers()) for _ in range(3)]
    questions = [[list(record[:-1]) for record in records.common[:k]] for k in (1, 3, 5)]
    chain = _draw_chain(rng, estimator, questions)
    both = [records.table("one"), records.table("other")]
    one, other = _tables(both, schema, kinds, strict=bool(chain.inferred))
    if getattr(estimator, "max_sample_weight", None) is not None:
        one, other = _with_weights(rng, [one, other], len(records.common), kinds[1])
    if rng.random() < 0.5:  # outputs are drawn with the odd record, or without it
        one, other = other, one
    where = f"{records.place}: {kinds[0]}, target {kinds[1]}"
    kind = where if persons is None else f"{where}, persons {kinds[2]}"
    return Setting(
        estimator, one, other, len(records.common), chain, kind, int(rng.integers(1 << 30))
    )


def _draw_chain(rng: Rng, estimator: PrivateEstimator, questions: list[Any]) -> Chain:
    """A fit, or two where one goes on; at times after one that failed, or with a paid schema."""
    inferred: dict[str, Any] = {}
    schema = estimator.schema
    assert isinstance(schema, Schema)
    if rng.random() < CHAINS:
        inferred = {"epsilon": pick(rng, (3.0, 30.0)), "delta": pick(rng, (1e-6, 1e-2))}
        if rng.random() < 0.5:
            inferred["types"] = {f.name: _type_of(f) for f in schema.features}
    return Chain(
        estimator,
        inferred,
        classes=() if schema.target is None else schema.target.classes or (),
        fails_after=int(rng.integers(1, 4)) if rng.random() < CHAINS else 0,
        fits=2 if getattr(estimator, "warm_start", False) else 1,
        questions=questions,
    )


def _type_of(feature: Feature) -> str:
    if isinstance(feature, CategoricalFeature):
        return "category"
    return "integer" if feature.integer else "number"


def _draw_estimator(rng: Rng, name: str, persons: int | None) -> PrivateEstimator:
    """An estimator with options that go together, about a schema."""
    kind = public_estimators()[name]
    schema = draw_schema(rng, regression=is_regressor(kind()))
    while True:
        options = {key: pick(rng, values) for key, values in OPTIONS.get(name, {}).items()}
        if options.get("class_weight") == FIRST_CLASS:
            options["class_weight"] = {schema.classes[0]: FIRST_CLASS["first class"]}
        if options.get("monotone_constraints") == FIRST_NUMBER:
            options["monotone_constraints"] = _rising(schema)
        if options.get("strategy") in SLOW:
            options["features_per_ensemble"] = 2
        estimator = kind(
            **options,
            epsilon=pick(rng, EPSILONS),
            schema=schema,
            neighbors=pick(rng, ("add_remove", "replace_one")),
            max_records_per_group=persons,
            random_state=int(rng.integers(1 << 30)),
            n_jobs=1,
        )
        try:
            estimator._check(persons)
        except ValueError:
            continue
        return estimator


def _rising(schema: Schema) -> dict[str, int] | None:
    """A constraint on the first numeric feature, where one is possible."""
    numbers = [f.name for f in schema.features if isinstance(f, NumericFeature)]
    many = schema.target is not None and len(schema.target.classes or ()) > 2
    return None if many or not numbers else {numbers[0]: 1}


def _with_weights(rng: Rng, tables: list[Table], common: int, kind: str) -> list[Table]:
    """The same tables with a weight for each record: common records weigh the same in both."""
    shared = [pick(rng, WEIGHTS) for _ in range(common)]
    odd = [[pick(rng, WEIGHTS) for _ in range(len(table.y) - common)] for table in tables]
    weights = put_columns([[*shared, *own] for own in odd], kind)
    return [replace(table, sample_weight=own) for table, own in zip(tables, weights, strict=True)]


def _tables(
    both: list[tuple[list[Record], list[Any] | None]],
    schema: Schema,
    kinds: list[str],
    *,
    strict: bool,
) -> list[Table]:
    """Two tables of plain values as tables of the same kinds."""
    names = schema.feature_names
    columns = [
        {name: [record[j] for record in records] for j, name in enumerate(names)}
        for records, _ in both
    ]
    X = put_tables(columns, kinds[0], strict=strict)
    targets = [[record[-1] for record in records] for records, _ in both]
    y = put_columns(targets, kinds[1], strict=strict)
    persons = [ids for _, ids in both if ids is not None]
    groups = put_columns(persons, kinds[2]) if persons else [None, None]
    return list(map(Table, X, y, groups))

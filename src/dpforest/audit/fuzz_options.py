"""Random options of every estimator: those that go together."""

from __future__ import annotations

from typing import Any

from dpforest.audit.fuzz_tables import Rng, pick
from dpforest.audit.small import public_estimators
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.mechanisms.strategies import STRATEGIES
from dpforest.schema import Schema
from dpforest.schema.features import NumericFeature
from dpforest.trees.level_budgets import LEVEL_BUDGETS

EPSILONS = (0.05, 0.3, 1.0, 4.0, 12.0)
COUNTS = (1, 2, 3)
BOTH = (True, False)
SLOW = ("kronecker", "p_identity", "mixture")  # strategies that search longest in large domains
FIRST_CLASS = {"first class": 5.0}  # stands for a weight of the first class of a schema
FIRST_NUMBER = {"first number": 1}
CLASS_WEIGHTS = (None, None, "balanced", FIRST_CLASS)
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
    "n_hint": (*SHAPE["n_hint"], 700),
    "monotone_constraints": (None, FIRST_NUMBER),
    "warm_start": (False, False, True),
    "max_sample_weight": (None, None, 1.0, 7.5),
}
FLAGSHIP = ("PrivateForestClassifier", "PrivateForestRegressor", "PrivateIntervalRegressor")
AS_IT_COMES = 0.25  # of the flagship's settings: on so few records it may be one rule
SHAPED = ("n_estimators", "max_depth", "learning_rate", "trees_per_round")
WEIGHED = ("class_weight", "max_sample_weight")
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


def draw_estimator(rng: Rng, name: str, schema: Schema, persons: int | None) -> PrivateEstimator:
    """An estimator with options that go together, about a schema."""
    kind = public_estimators()[name]
    while True:
        options = _draw_options(rng, name, schema)
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


def _draw_options(rng: Rng, name: str, schema: Schema) -> dict[str, Any]:
    options = {key: pick(rng, values) for key, values in OPTIONS.get(name, {}).items()}
    if name in FLAGSHIP and rng.random() < AS_IT_COMES:
        options = {key: options[key] for key in options if key not in (*SHAPED, *WEIGHED)}
    if options.get("class_weight") == FIRST_CLASS:
        options["class_weight"] = {schema.classes[0]: FIRST_CLASS["first class"]}
    if options.get("monotone_constraints") == FIRST_NUMBER:
        options["monotone_constraints"] = _rising(schema)
    if options.get("strategy") in SLOW:
        options["features_per_ensemble"] = 2
    return options


def _rising(schema: Schema) -> dict[str, int] | None:
    """A constraint on the first numeric feature, where one is possible."""
    numbers = [f.name for f in schema.features if isinstance(f, NumericFeature)]
    many = schema.target is not None and len(schema.target.classes or ()) > 2
    return None if many or not numbers else {numbers[0]: 1}

"""The options of each family that are tried, each as a change of its defaults."""

from __future__ import annotations

import math
from typing import Any

Options = dict[str, Any]

SHARED: list[Options] = [
    {},
    {"n_hint": 1000},
    {"epsilon": 0.2},
    {"epsilon": 8.0},
    {"epsilon": math.inf},
    {"epsilon": math.inf, "n_estimators": 3, "max_depth": 2},
]
TREES: list[Options] = [
    {"n_estimators": 5, "max_depth": 3},
    {"n_estimators": 5},
    {"max_depth": 2},
    {"max_bins": 8},
    {"n_jobs": 1},
]


def each(name: str, *values: Any, **beside: Any) -> list[Options]:
    """One change for each value of an option."""
    return [{name: value, **beside} for value in values]


BUSHY = {"splits": "multiway", "n_estimators": 8, "max_depth": 2, "max_bins": 5}
RANDOM = [
    *SHARED,
    *TREES,
    BUSHY,
    *each("sampling", "disjoint"),
    *each("sampling", "disjoint", **BUSHY),
    *each("leaves", "label"),
    *each("leaves", "label", sampling="disjoint", n_estimators=6, max_depth=3),
    *each("leaves", "label", voting="majority", **BUSHY),
    *each("voting", "majority", "probabilistic", "weighted", "most_confident"),
    *each("voting", "weighted", "most_confident", **BUSHY),
    *each("pruning", "snr"),
    *each("pruning", "snr", voting="weighted", **BUSHY),
]
MEDIAN = [
    *SHARED,
    *TREES,
    *each("n_candidates", 1, 3),
    *each("rho", 0.3),
    *each("splits", "random"),
    *each("choice", "joint", "pay"),
    *each("choice", "joint", "pay", sampling="shared", n_estimators=3, max_depth=2),
    *each("choice", "joint", "attribute", cuts="grid"),
    *each("sampling", "shared"),
    *each("categories", "one_vs_rest"),
    *each("categories", "one_vs_rest", choice="joint"),
]
MEDIAN_CLASSES = [
    *MEDIAN,
    *each("leaves", "label"),
    *each("leaves", "label", splits="random", sampling="shared", voting="majority"),
    *each("voting", "majority", "weighted"),
]
GREEDY = [
    *SHARED,
    *TREES,
    *each("splits", "binary"),
    *each("splits", "binary", leaves="counts", n_estimators=4, max_depth=3),
    *each("criterion", "gini", "information_gain", "f_max", n_estimators=4),
    *each("criterion", "gini", "information_gain", "f_max", splits="binary", max_depth=2),
    *each("n_bound", 500, criterion="information_gain"),
    *each("selection", "exponential"),
    *each("selection", "exponential", splits="binary", stopping=None),
    *each("max_features", 2, "sqrt"),
    *each("level_budget", "even", "linear", "hou", "cube_root"),
    *each("level_budget", "even", "hou", "cube_root", align=False, leaves="counts"),
    *each("align", False),
    *each("stopping", None),
    *each("leaves", "counts"),
    *each("voting", "majority", "weighted", leaves="counts"),
    *each("sampling", "shared", "without_replacement"),
    *each("sample_share", 0.2, sampling="without_replacement", leaves="counts"),
    *each("second_phase", 0.5, sampling="without_replacement", n_estimators=4),
    *each("min_support", 0.0, n_estimators=3, max_depth=2),
    *each("min_support", 0.0, 30.0),
]
MATRIX_SHAPES = [
    {"n_estimators": 6, "max_depth": 2},
    {"n_ensembles": 2, "features_per_ensemble": 2, "n_estimators": 4, "max_depth": 2},
    {"n_ensembles": 1, "max_depth": 1},
    {"features_per_ensemble": 3},
    {"max_bins": 3},
    {"n_jobs": 1},
]
SMALL = {"n_estimators": 4, "max_depth": 2, "features_per_ensemble": 3, "max_bins": 3}
STRATEGIES = ("identity", "marginals", "kronecker", "p_identity", "mixture", "laplace")
MATRIX = [
    *SHARED,
    *MATRIX_SHAPES,
    *each("strategy", *STRATEGIES, **SMALL),
    *each("voting", "weighted", "hard"),
    *each("voting", "weighted", strategy="laplace", **SMALL),
    *each("cuts", "quantiles"),
    *each("cuts", "quantiles", n_hint=1000, max_depth=2),
]
MATRIX_DISJOINT = [
    *each("sampling", "disjoint"),
    *each("sampling", "disjoint", voting="hard", **SMALL),
]
PREDICTOR = [
    *({**change, "n_hint": 1000} for change in (*SHARED[1:], *MATRIX_SHAPES)),
    *each("strategy", *STRATEGIES, **SMALL),
    *each("mode", "subsample", n_hint=1000),
    *each("voting", "weighted", max_depth=2),
    *each("voting", "weighted", "hard", mode="subsample", **SMALL),
    *each("strategy", "laplace", mode="subsample", voting="hard", **SMALL),
    *each("strategy", "laplace", mode="subsample", **SMALL),
]
PREDICTOR_BATCHES = [
    *each("epsilon_per_batch", 0.5, **SMALL),
    *each("epsilon_per_batch", 0.25, mode="subsample", voting="hard", **SMALL),
]
BOOSTED = [
    *SHARED,
    *each("n_jobs", 1),
    *each("n_estimators", 12),
    *each("max_depth", 2, 5),
    *each("learning_rate", 0.1),
    *each("trees_per_round", 1, 3),
    {"n_estimators": 9, "max_depth": 3, "learning_rate": 0.3, "trees_per_round": 3},
    {"n_estimators": 8, "max_depth": 2, "warm_start": True},
    {"warm_start": True},
]

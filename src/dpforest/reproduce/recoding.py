"""Prepare a data set the way a paper did: which features, which cuts, which categories together."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import CategoricalFeature, Feature, NumericFeature, Schema, Target

Rules = Mapping[str, Any]


def rules_of(dataset: str) -> tuple[str, Rules, int | None]:
    """The data set of a name such as ``iris@mrf``, its rules, and the seed of its only split.

    Examples
    --------
    >>> rules_of("car@mrf")
    ('car', {}, 100)
    >>> rules_of("car")
    ('car', {}, None)
    """
    name, _, paper = dataset.partition("@")
    if not paper:
        return name, {}, None
    file = resources.files("dpforest.reproduce") / "recodings.toml"
    rules = tomllib.loads(file.read_text(encoding="utf-8"))[paper]
    return name, rules[name], rules.get("split_seed")


def recode(
    X: NDArray[np.float32], y: NDArray[Any], schema: Schema, categories: Schema, rules: Rules
) -> tuple[NDArray[np.float32], NDArray[Any], Schema]:
    """Apply rules to a table of numbers, categories being positions and NaN missing.

    Parameters
    ----------
    X, y : ndarray
    schema : Schema
        Of the numbers.
    categories : Schema
        With the names of the categories.
    rules : mapping
        ``features`` to keep, ``complete`` for records without missing values only, ``cuts`` of
        numeric features, ``groups`` of categories that become one, features whose
        ``missing_is_a_category``, the bounds of a ``target`` to be scaled to [0, 1], and how many
        records of each class to keep, ``per_class``, drawn at random once for all.
    """
    if "per_class" in rules:
        kept = _records_per_class(y, rules["per_class"])
        X, y = X[kept], y[kept]
    if "target" in rules:
        low, high = rules["target"]
        y = (y - low) / (high - low)
        schema = Schema(schema.features, Target(low=0.0, high=1.0))
    if rules.get("complete"):
        whole = ~np.isnan(X).any(axis=1)
        X, y = X[whole], y[whole]
    names = rules.get("features") or [feature.name for feature in schema.features]
    features: list[Feature] = []
    columns = []
    for name in names:
        j = schema.feature_names.index(name)
        feature, column = schema.features[j], X[:, j].copy()
        if isinstance(feature, NumericFeature):
            cuts = rules.get("cuts", {}).get(name)
            feature = replace(feature, cuts=tuple(map(float, cuts)) if cuts else None)
        elif name in rules.get("groups", {}):
            known = categories.features[j]
            assert isinstance(known, CategoricalFeature)
            groups = rules["groups"][name]
            group_of = [next(g for g, m in enumerate(groups) if c in m) for c in known.categories]
            column = np.array(group_of, np.float32)[column.astype(np.int64)]
            feature = CategoricalFeature(name, tuple(range(len(groups))))
        elif name in rules.get("missing_is_a_category", ()):
            n = len(feature.categories)
            column[np.isnan(column)] = n
            feature = CategoricalFeature(name, tuple(range(n + 1)))
        features.append(feature)
        columns.append(column)
    return np.column_stack(columns), y, Schema(tuple(features), schema.target)


def _records_per_class(y: NDArray[Any], n: int) -> NDArray[np.int64]:
    """So many records of each class, in the order of the table."""
    rng = np.random.default_rng(42)  # the paper's seed, of another generator
    rows = [rng.choice(np.flatnonzero(y == k), n, replace=False) for k in np.unique(y)]
    return np.sort(np.concatenate(rows))

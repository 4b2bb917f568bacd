"""Data sets as the harness hands them to estimators: numbers only, quick to read many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dpforest import datasets
from dpforest.reproduce.recoding import recode, rules_of
from dpforest.schema import CategoricalFeature, Feature, NumericFeature, Schema, Target
from dpforest.tables.encode import encode_labels, match_categories
from dpforest.tables.frames import Frame


@dataclass(frozen=True)
class Records:
    """Numbers, NaN where missing, and what is public of them."""

    X: NDArray[np.float32]
    y: NDArray[Any]
    schema: Schema


@dataclass(frozen=True)
class Split:
    """Records to train on and records to test on."""

    train: Records
    test: Records


@lru_cache(maxsize=1)
def split(dataset: str, positive: str | None, test_share: float, seed: int) -> Split:
    """Keep a part of a shuffled data set for testing; consecutive seeds test different records.

    Ten seeds with a tenth each test every record once, as cross-validation does, so that their
    mean does not hang on which records happened to be drawn. Then comes a new shuffle. Where a
    paper's own split is known (`recoding`), every seed has that one.
    """
    records = load(dataset, positive)
    split_seed = rules_of(dataset)[2]
    if split_seed is not None:
        train, test = train_test_split(
            np.arange(len(records.y)), test_size=test_share, random_state=split_seed
        )
        return Split(_rows(records, train), _rows(records, test))
    n_parts = round(1 / test_share)
    shuffle, part = divmod(seed, n_parts)
    order = np.random.default_rng(shuffle).permutation(len(records.y))
    test = np.zeros(len(order), np.bool_)
    test[np.array_split(order, n_parts)[part]] = True
    return Split(*(_rows(records, rows) for rows in (~test, test)))


def _rows(records: Records, rows: NDArray[Any]) -> Records:
    return Records(records.X[rows], records.y[rows], records.schema)


@lru_cache(maxsize=1)
def load(dataset: str, positive: str | None) -> Records:
    """A data set as numbers: categories become their positions, classes likewise."""
    name, rules, _ = rules_of(dataset)
    data = datasets.load(name)
    records = to_numbers(data.X, data.y, data.schema, positive)
    return Records(*recode(records.X, records.y, records.schema, data.schema, rules))


def to_numbers(X: Any, y: Any, schema: Schema, positive: str | None = None) -> Records:
    """Turn a table into numbers, and its schema into one of those numbers.

    Parameters
    ----------
    X, y, schema
        As `dpforest.datasets.load` gives them.
    positive : str, optional
        Two classes: 1 for this one, 0 for all others.
    """
    frame = Frame(X).select(schema)
    numbers = np.empty((frame.n_rows, schema.n_features), np.float32)
    features: list[Feature] = []
    for j, feature in enumerate(schema.features):
        if isinstance(feature, NumericFeature):
            numbers[:, j] = frame.series(j).numbers()
            features.append(feature)
        else:
            found = match_categories(frame.series(j), feature.categories)
            numbers[:, j] = np.where(found < 0, np.nan, found)
            features.append(_positions(feature))
    if schema.target is None or schema.target.classes is None:
        return Records(numbers, np.asarray(y), Schema(tuple(features), schema.target))
    labels, n_classes = encode_labels(y, schema.classes), len(schema.classes)
    if positive is not None:
        labels = (labels == schema.classes.index(positive)).astype(np.int32)
        n_classes = 2
    return Records(
        numbers, labels, Schema(tuple(features), Target(classes=tuple(range(n_classes))))
    )


def _positions(feature: CategoricalFeature) -> Feature:
    n = len(feature.categories)
    if n == 2:
        # One cut between 0 and 1 is the only split of two categories, and numbers bin faster.
        return NumericFeature(feature.name, 0, 1, integer=True)
    return CategoricalFeature(feature.name, tuple(range(n)))

"""Generated records: two classes, three classes and amounts, as frames of several libraries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpforest import CategoricalFeature, NumericFeature, Schema, Target, datasets

Columns = dict[str, list[Any]]
N_TRAIN, N_TEST = 900, 150
N_MANY = 45_000  # enough for two threads, in a fit and in a prediction
NUMBERS = ("weight", "age", "dose")
COLOURS, SIZES = ("red", "green", "blue", "grey"), (1, 2, 3)


@dataclass(frozen=True)
class Table:
    """Records to fit, their persons, and held-out rows."""

    schema: Schema
    train: Columns
    y: np.ndarray
    persons: np.ndarray
    test: Columns


def small_schema(target: Target) -> Schema:
    return Schema(
        (
            NumericFeature("weight", low=0, high=10),
            NumericFeature("age", low=0, high=90, integer=True),
            NumericFeature("dose", low=0, high=1, cuts=(0.2, 0.5, 0.9)),
            CategoricalFeature("colour", COLOURS),
            CategoricalFeature("size", SIZES),
            CategoricalFeature("smoker", (False, True)),
        ),
        target,
    )


def small_columns(rng: np.random.Generator, n: int) -> Columns:
    """Mixed kinds; some numbers are beyond the bounds."""
    return {
        "weight": rng.normal(5, 2.5, n).tolist(),
        "age": rng.integers(0, 95, n).tolist(),
        "dose": rng.random(n).tolist(),
        "colour": [COLOURS[i] for i in rng.choice(4, n, p=(0.5, 0.3, 0.15, 0.05))],
        "size": rng.choice(SIZES, n).tolist(),
        "smoker": (rng.random(n) < 0.3).tolist(),
    }


def with_gaps(rng: np.random.Generator, columns: Columns) -> Columns:
    """One cell in eight missing, but for truth values; one colour in eight not in the schema."""
    n = len(columns["colour"])
    unseen = rng.random(n) < 1 / 8
    gappy = columns | {
        "colour": [
            "mauve" if new else old for new, old in zip(unseen, columns["colour"], strict=True)
        ]
    }
    for name in ("weight", "age", "dose", "colour", "size"):
        missing = rng.random(n) < 1 / 8
        gappy[name] = [
            None if gap else value for gap, value in zip(missing, gappy[name], strict=True)
        ]
    return gappy


def score(columns: Columns, rng: np.random.Generator) -> np.ndarray:
    """What the targets follow: age, weight, colour, and chance."""
    red = np.array([colour == "red" for colour in columns["colour"]])
    age, weight = np.array(columns["age"]), np.array(columns["weight"])
    return age / 45 + weight / 10 * red - 1.2 + rng.normal(0, 0.4, len(red))


@cache
def table(name: str) -> Table:
    """``binary`` is the census, ``classes`` and ``amounts`` are drawn here, plainly or ``_gaps``,
    ``_numbers`` (gaps, no categories) and ``_many`` (records).
    """
    task, _, kind = name.partition("_")
    n_train, n_test = (N_MANY, N_MANY) if kind == "many" else (N_TRAIN, N_TEST)
    rng = np.random.default_rng(11)
    if task == "binary":
        schema, columns, y = census(n_train + n_test)
    else:
        columns = small_columns(rng, n_train + n_test)
        target = score(columns, rng)
        if task == "classes":
            schema = small_schema(Target("kind", classes=("a", "b", "c")))
            y = np.array(["a", "b", "c"])[np.digitize(target, (-0.3, 0.5))]
        else:
            schema, y = small_schema(Target("amount", low=-2, high=2)), target
    if kind in ("gaps", "numbers"):
        columns = with_gaps(rng, columns)
    if kind == "numbers":
        columns = {key: columns[key] for key in NUMBERS}
        schema = Schema(schema.features[: len(NUMBERS)], schema.target)
    return Table(
        schema=schema,
        train=rows_of(columns, 0, n_train),
        y=y[:n_train],
        persons=rng.integers(0, n_train // 2, n_train),
        test=rows_of(columns, n_train, n_train + n_test),
    )


def census(n: int) -> tuple[Schema, Columns, np.ndarray]:
    drawn = datasets.make_census(n, random_state=3)
    columns = {name: drawn.X[name].tolist() for name in drawn.schema.feature_names}
    return drawn.schema, columns, np.asarray(drawn.y)


def rows_of(columns: Columns, start: int, stop: int) -> Columns:
    return {key: values[start:stop] for key, values in columns.items()}


def numpy_rows(columns: Columns) -> np.ndarray:
    rows = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for position, values in enumerate(columns.values()):
        rows[:, position] = values
    return rows


CONTAINERS = {
    "numpy": numpy_rows,
    "floats": lambda columns: numpy_rows(columns).astype(np.float64),
    "lists": lambda columns: numpy_rows(columns).tolist(),
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas_nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas_categories": lambda columns: pd.DataFrame(columns).astype(
        dict.fromkeys({"colour", "size"} & columns.keys(), "category")
    ),
    "pandas_shuffled": lambda columns: pd.DataFrame(columns)[sorted(columns)],
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
}

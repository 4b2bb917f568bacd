"""A synthetic census: mixed types, a heavy tail, missing cells and an income to predict."""

from typing import Any

import numpy as np
from numpy.random import Generator

from dpforest.datasets import frames
from dpforest.datasets.loading import Dataset
from dpforest.schema import Schema

Array = np.ndarray[Any, Any]

EDUCATION = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
OCCUPATION = (
    "agriculture",
    "care",
    "clerical",
    "crafts",
    "management",
    "none",
    "professional",
    "sales",
    "services",
    "transport",
)
REGION = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "capital")
HOUSEHOLD = ("single", "couple", "couple with children", "single parent", "shared")
SECTOR = ("private", "public", "self-employed", "not working")

# what an occupation adds to the log-odds of a high income, in the order of OCCUPATION
_OCCUPATION_EFFECT = np.array([-0.9, -0.3, -0.2, 0.1, 1.3, -2.0, 1.0, 0.3, -0.9, 0.0])
_REGION_EFFECT = np.array([-0.2, -0.5, -0.1, 0.2, -0.1, -0.4, 0.1, 0.7])
_REGION_SHARE = np.array([0.12, 0.08, 0.11, 0.16, 0.13, 0.09, 0.14, 0.17])
_EDUCATION_SHARE = np.array([0.02, 0.07, 0.36, 0.22, 0.21, 0.09, 0.03])
# the share of each occupation (columns) among the working without and with a degree
_OCCUPATION_SHARE = np.array(
    [
        [0.05, 0.13, 0.14, 0.18, 0.05, 0.00, 0.03, 0.15, 0.17, 0.10],
        [0.01, 0.08, 0.12, 0.04, 0.22, 0.00, 0.36, 0.10, 0.05, 0.02],
    ]
)

_SCHEMA: dict[str, Any] = {
    "features": [
        {"name": "age", "kind": "numeric", "low": 17, "high": 90, "integer": True},
        {"name": "education", "kind": "categorical", "categories": EDUCATION},
        {"name": "occupation", "kind": "categorical", "categories": OCCUPATION},
        {"name": "sector", "kind": "categorical", "categories": SECTOR},
        {"name": "region", "kind": "categorical", "categories": REGION},
        {"name": "household", "kind": "categorical", "categories": HOUSEHOLD},
        {"name": "children", "kind": "numeric", "low": 0, "high": 9, "integer": True},
        {"name": "hours_per_week", "kind": "numeric", "low": 0, "high": 99, "integer": True},
        {"name": "commute_minutes", "kind": "numeric", "low": 0, "high": 240},
        {"name": "capital_gain", "kind": "numeric", "low": 0, "high": 1_000_000},
    ],
    "target": {"name": "income", "classes": ("<=50K", ">50K")},
}


def make_census(n_rows: int, random_state: int | None = None) -> Dataset:
    """Draw a synthetic census table with a public schema.

    Ten features of mixed kinds: integers, an amount that is zero for nine people in ten and has a
    heavy tail, categories of unequal frequency, missing cells in three columns. The target is
    whether the income is above 50K: true of about one person in four, and predicted with an
    accuracy of about 0.86 by a good model. The rows are independent draws from one fixed
    distribution; nothing about them is private.

    Parameters
    ----------
    n_rows : int
        Number of people, at least 1; a million takes about two seconds.
    random_state : int or None, default=None
        Seed of the draw.

    Returns
    -------
    Dataset
        ``X`` is a frame of pandas, polars or pyarrow, whichever is installed; where none is, a
        NumPy object array with the columns in the schema's order.

    Examples
    --------
    >>> from dpforest.datasets import make_census
    >>> census = make_census(1000, random_state=0)
    >>> census.schema.feature_names[:3]
    ('age', 'education', 'occupation')
    """
    if n_rows < 1:
        raise ValueError(f"n_rows must be at least 1; got {n_rows}")
    random = np.random.default_rng(random_state)
    age = np.clip(np.rint(17 + 73 * random.beta(1.5, 2.4, n_rows)), 17, 90)
    education = _draw(random, _EDUCATION_SHARE, n_rows)
    education[(age < 22) & (education > 3)] = 2
    household, children = _family(random, age)
    occupation, sector, hours = _work(random, age, education)
    region = _draw(random, _REGION_SHARE, n_rows)
    commute = np.where(hours > 0, random.lognormal(3.0, 0.7, n_rows), 0.0).clip(0, 240)
    gain = _capital_gain(random, age)
    score = (
        0.62 * (education - 2.5)
        + _OCCUPATION_EFFECT[occupation]
        + _REGION_EFFECT[region]
        # earnings rise until the early fifties, the more so the longer the education
        + (2.1 + 0.25 * education) * np.exp(-(((age - 51) / 17) ** 2))
        + 0.055 * (hours - 38).clip(-25, 20)
        + 0.9 * ((household == 1) | (household == 2))
        + 1.1 * np.log1p(gain / 2000)
        - 3.9
    )
    income = random.random(n_rows) < 1 / (1 + np.exp(-1.1 * score))
    columns = {
        "age": age,
        "education": _text(EDUCATION, education),
        "occupation": _missing(random, _text(OCCUPATION, occupation), 0.05),
        "sector": _text(SECTOR, sector),
        "region": _text(REGION, region),
        "household": _text(HOUSEHOLD, household),
        "children": children,
        "hours_per_week": hours,
        "commute_minutes": _missing(random, commute, 0.08),
        "capital_gain": _missing(random, gain, 0.02),
    }
    schema = Schema.from_dict(_SCHEMA)
    y = np.where(income, ">50K", "<=50K")
    return Dataset(
        name="census", title="Synthetic census", X=frames.from_columns(columns), y=y, schema=schema
    )


def _draw(random: Generator, shares: Array, n_rows: int) -> Array:
    """Draw a category code for each row; the shares add up to one."""
    return np.searchsorted(np.cumsum(shares)[:-1], random.random(n_rows), side="right")


def _family(random: Generator, age: Array) -> tuple[Array, Array]:
    """Draw the household's kind and the number of children in it, by age."""
    paired = random.random(len(age)) < 0.75 / (1 + np.exp(-(age - 29) / 4))
    parent = random.random(len(age)) < 0.62 * np.exp(-(((age - 41) / 11) ** 2))
    alone = np.where((age < 32) & (random.random(len(age)) < 0.35), 4, 0)
    household = np.where(paired, np.where(parent, 2, 1), np.where(parent & (alone == 0), 3, alone))
    children = np.where(np.isin(household, (2, 3)), 1 + random.poisson(0.8, len(age)).clip(0, 8), 0)
    return household, children.astype(np.float64)


def _work(random: Generator, age: Array, education: Array) -> tuple[Array, Array, Array]:
    """Draw occupation, sector and weekly hours, by age and education."""
    n_rows = len(age)
    idle = random.random(n_rows) < np.where(age > 66, 0.85, np.where(age < 22, 0.35, 0.12))
    degree = education > 3
    occupation = np.where(
        degree,
        _draw(random, _OCCUPATION_SHARE[1], n_rows),
        _draw(random, _OCCUPATION_SHARE[0], n_rows),
    )
    sector = _draw(random, np.array([0.68, 0.19, 0.13]), n_rows)
    full_time = random.random(n_rows) < 0.55
    hours = np.where(full_time, 40, np.rint(random.normal(36, 12, n_rows)).clip(2, 99))
    hours = hours + 6 * (sector == 2)
    none = OCCUPATION.index("none")
    return (
        np.where(idle, none, occupation),
        np.where(idle, 3, sector),
        np.where(idle, 0, hours.clip(0, 99)).astype(np.float64),
    )


def _capital_gain(random: Generator, age: Array) -> Array:
    """Draw an amount that is 0 for nine in ten, log-normal with a heavy tail for the others."""
    has_gain = random.random(len(age)) < 0.04 + 0.12 * ((age - 17) / 73)
    amount = np.rint(random.lognormal(7.6, 1.6, len(age))).clip(1, 1_000_000)
    return np.where(has_gain, amount, 0.0)


def _text(categories: tuple[str, ...], codes: Array) -> Array:
    return np.take(np.array(categories, dtype=object), codes)


def _missing(random: Generator, values: Array, share: float) -> Array:
    """Blank a share of the cells at random: None in text, NaN in numbers."""
    values[random.random(len(values)) < share] = None if values.dtype == object else np.nan
    return values

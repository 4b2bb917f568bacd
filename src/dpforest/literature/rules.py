"""Public rules for the shape of a forest: a recipe names one where its paper reads the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpforest.schema import NumericFeature, Schema

LEAVES_OF_A_BUSHY_TREE = 4096
BINS_OF_A_NUMBER = 5
DEEPEST = 15


def half_the_features(schema: Schema) -> int:
    """m/2 levels: a way of that length meets half of m features, each at most once.

    Examples
    --------
    >>> half_the_features(Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(9))))
    4
    """
    return max(1, schema.n_features // 2)


def half_the_features_of_a_bushy_tree(schema: Schema) -> int:
    """m/2 levels, but no more than a tree with one child a value can hold.

    At most `LEAVES_OF_A_BUSHY_TREE` leaves, by the mean number of children (values, missing,
    and unseen categories).

    Examples
    --------
    >>> half_the_features_of_a_bushy_tree(
    ...     Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(20)))
    ... )
    4
    """
    children = [
        BINS_OF_A_NUMBER + 1 if isinstance(feature, NumericFeature) else len(feature.categories) + 2
        for feature in schema.features
    ]
    mean = sum(children) / len(children)
    fits = int(math.log(LEAVES_OF_A_BUSHY_TREE) / math.log(mean))
    return max(1, min(half_the_features(schema), fits))


def half_of_the_features_met(schema: Schema) -> int:
    """The depth at which a way is expected to have met half of the features.

    Fletcher and Islam (2017): the smallest d with ``s * ((s - 1) / s) ** d < s / 2`` for s numbers,
    which may be met again, and half of the categorical features on top; 15 at most.

    Examples
    --------
    >>> half_of_the_features_met(Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(6))))
    4
    """
    numbers = sum(isinstance(feature, NumericFeature) for feature in schema.features)
    met = 0
    while numbers and ((numbers - 1) / numbers) ** met >= 0.5:
        met += 1
    return min(max(1, met + (schema.n_features - numbers) // 2), DEEPEST)


RULES: Mapping[str, Callable[[Schema], int]] = {
    rule.__name__: rule
    for rule in (half_the_features, half_the_features_of_a_bushy_tree, half_of_the_features_met)
}


def resolve(value: Any, schema: Schema | None) -> Any:
    """A parameter of a recipe as the estimator takes it.

    A rule becomes its number, ``"auto"`` where there is no schema to read; a list becomes a tuple;
    ``"none"`` becomes None, which TOML has not.

    Examples
    --------
    >>> resolve({"rule": "half_the_features"}, Schema((NumericFeature("x", 0, 1),)))
    1
    >>> [resolve(value, None) for value in ({"rule": "half_the_features"}, ["a"], "none", 5)]
    ['auto', ('a',), None, 5]
    """
    if isinstance(value, Mapping):
        return "auto" if schema is None else RULES[value["rule"]](schema)
    if isinstance(value, list):
        return tuple(value)
    return None if value == "none" else value

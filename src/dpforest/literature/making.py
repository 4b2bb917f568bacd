"""Look a system of the literature up by its name, and make a forest of it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

from dpforest.forests.base import PrivateEstimator
from dpforest.literature.printed.greedy import PrintedGreedyForest
from dpforest.literature.printed.median import (
    PrintedMedianForestClassifier,
    PrintedMedianForestRegressor,
)
from dpforest.literature.printed.random import SmoothLabelForest, SnrForest
from dpforest.literature.recipes import Description, recipes
from dpforest.literature.rules import resolve
from dpforest.schema import Schema

Variant = Literal["repaired", "as_published"]
PRINTED: dict[str, type[PrivateEstimator]] = {
    "GreedyForestClassifier": PrintedGreedyForest,
    "MedianForestClassifier": PrintedMedianForestClassifier,
    "MedianForestRegressor": PrintedMedianForestRegressor,
}


def names() -> tuple[str, ...]:
    """The names of all systems: random, greedy, median and matrix forests.

    Examples
    --------
    >>> from dpforest import literature
    >>> literature.names()[:3]
    ('private_rdt', 'snr_forest', 'dprf_mv')
    """
    return tuple(recipes())


def describe(name: str) -> Description:
    """What a system is; print it.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Description

    Examples
    --------
    >>> from dpforest import literature
    >>> literature.describe("private_rdt").guarantee
    'holds'
    >>> print(literature.describe("rana"))
    rana: Variance-preserving forest
    Rana, Gupta, Venkatesh: Differentially private random forest with high utility. ICDM, 2015
    ...
    """
    known = recipes()
    if not isinstance(name, str):
        raise TypeError(f"name must be a text such as 'edprf', got {name!r}")
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
        raise ValueError(f"no system {name!r} in the literature: {hint}")
    return known[name]


def make(
    name: str,
    *,
    epsilon: float = 1.0,
    variant: Variant = "repaired",
    schema: Schema | dict[str, Any] | None = None,
    random_state: Any = None,
    **overrides: Any,
) -> PrivateEstimator:
    """An unfitted estimator that does what a system does.

    Parameters
    ----------
    name : str
        One of `names`.
    epsilon : float, default=1.0
    variant : {"repaired", "as_published"}, default="repaired"
        With its guarantee, or as printed, for research: a `NoGuaranteeWarning` on ``fit``, and the
        ledger says why. Where the print holds, both are the same.
    schema : Schema or dict, optional
        What is public of the table; depths that follow from it are ``"auto"`` without.
    random_state : int, RandomState or None
    **overrides
        Parameters of the estimator that replace those of the recipe.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from dpforest import datasets, literature
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = literature.make("dprf_ta", epsilon=1.0, schema=census.schema, random_state=0)
    >>> forest.fit(census.X, census.y).ledger_.epsilon
    1.0
    """
    recipe = describe(name)
    parameters = _parameters(recipe, variant)
    public = Schema.from_dict(schema) if isinstance(schema, Mapping) else schema
    chosen = {key: resolve(value, public) for key, value in parameters.items()} | overrides
    printed = variant == "as_published" and recipe.as_published is not None
    kind = _printed(recipe) if printed else _estimator(recipe)
    return kind(epsilon=epsilon, schema=schema, random_state=random_state, **chosen)


def _estimator(recipe: Description) -> Callable[..., PrivateEstimator]:
    module, name = recipe.estimator.split(":")
    kind: Callable[..., PrivateEstimator] = getattr(import_module(module), name)
    return kind


def _printed(recipe: Description) -> Callable[..., PrivateEstimator]:
    """The forest that follows the print of a recipe."""
    name = recipe.estimator.split(":")[1]
    if name == "RandomDecisionForestClassifier":
        return SnrForest if recipe.parameters.get("pruning") == "snr" else SmoothLabelForest
    return PRINTED[name]


def _parameters(recipe: Description, variant: str) -> dict[str, Any]:
    if variant not in ("repaired", "as_published"):
        raise ValueError(f"variant must be 'repaired' or 'as_published', got {variant!r}")
    if recipe.not_offered and (variant == "as_published" or not recipe.estimator):
        raise ValueError(f"{recipe.name} is not made ({variant}): {recipe.not_offered}")
    printed = recipe.as_published if variant == "as_published" else None
    return {**recipe.parameters, **(printed or {})}

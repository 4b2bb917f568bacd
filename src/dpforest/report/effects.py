"""What a forest makes of one feature, the others averaged: from released arrays alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.schema import CategoricalFeature
from dpforest.schema.categories import Category
from dpforest.tables.grouping import group_names

if TYPE_CHECKING:
    from dpforest.forests.boosted_base import BoostedForest
    from dpforest.forests.boosting import BoostedTrees
    from dpforest.trees.oblivious import ObliviousTrees

ENDS = ("lower end", "median", "upper end")  # the answers of a model of intervals
DEVIATIONS = 2.0  # of the noise, on either side of an effect


@dataclass(frozen=True)
class FeatureEffect:
    """The answer of a model as one feature goes through its bins.

    Parameters
    ----------
    feature : str
        The name of the feature.
    categories : tuple or None
        The categories, one a bin; None for a numeric feature.
    edges : ndarray or None
        The borders of the bins, one more than there are bins; None for a categorical feature.
    answers : ndarray of shape (n_bins, n_classes), (n_bins,) or (n_bins, 3)
        The probability of each class; or the target; or the ends and the middle of its interval.
    low, high : ndarray of the same shape
        The band of the noise, two deviations on either side.
    told : str
        What the answers are: "probability", "mean", "median", "0.9 quantile" and the like.
    """

    feature: str
    categories: tuple[Category, ...] | None
    edges: Values | None
    answers: Values
    low: Values
    high: Values
    told: str = "probability"


@dataclass(frozen=True)
class PairEffect:
    """The answer of a model as two features go through their bins.

    Parameters
    ----------
    features : tuple of str
        Their names.
    answers : ndarray of shape (n_bins, n_bins, n_classes) or (n_bins, n_bins)
        The probability of each class, or the target, at the mean score of two bins.
    interaction : ndarray of shape (n_outputs, n_bins, n_bins)
        What the two do to the score together, beyond what each does alone.
    """

    features: tuple[str, str]
    answers: Values
    interaction: Values


def feature_effect(model: BoostedForest, feature: str) -> FeatureEffect:
    """Compute the answer at the mean score, a bin of the feature at a time.

    Scores are averaged over all combinations of the other features' values, weighted by the
    released ``bin_shares_``, as if features were independent. No record takes part, so it is
    post-processing. The band is that of forests which learnt from noise alone
    (`dpforest.report.noise_runs`).

    Parameters
    ----------
    model : PrivateForestClassifier or PrivateForestRegressor
        Fitted.
    feature : str
        The name of a feature in the schema.

    Returns
    -------
    FeatureEffect

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    >>> effect = feature_effect(forest.fit(census.X, census.y), "education")
    >>> effect.categories[0], effect.categories[-1]
    ('none', 'doctorate')
    >>> bool(effect.answers[-1, 1] > effect.answers[0, 1])
    True
    """
    j = _place(model, feature)
    n_values = model.encoding_.n_values[j]
    scores = mean_scores(model.forest_, j, model.released_shares)[:, :n_values]
    runs = mean_scores(model.noise_forest(), j, model.released_shares)[:, :n_values]
    reach = DEVIATIONS * runs.std(axis=0, ddof=1)
    answers = model.from_scores(scores)
    low, high = (_shifted(model, scores, sign * reach) for sign in (-1.0, 1.0))
    declared, cuts = model.schema_.features[j], model.encoding_.cuts[j]
    if isinstance(declared, CategoricalFeature) or cuts is None:
        labels = group_names(declared.categories)  # type: ignore[union-attr]
        return FeatureEffect(feature, labels, None, answers, low, high, model.told)
    edges = np.concatenate([[declared.low], cuts, [declared.high]])
    return FeatureEffect(feature, None, edges, answers, low, high, model.told)


def pair_effect(model: BoostedForest, first: str, second: str) -> PairEffect:
    """Compute the answer at the mean score of every two bins of two features.

    Parameters
    ----------
    model : PrivateForestClassifier or PrivateForestRegressor
        Fitted.
    first, second : str
        The names of two features.

    Returns
    -------
    PairEffect
    """
    i, j = _place(model, first), _place(model, second)
    if i == j:
        raise ValueError(f"a pair needs two features, got {first!r} twice")
    shares, n_values = model.released_shares, model.encoding_.n_values
    joint = mean_pair_scores(model.forest_, i, j, shares)
    # Over all bins, missing ones included: each feature alone, and neither.
    rows, columns = joint @ shares[j], np.einsum("oab,a->ob", joint, shares[i])
    whole = rows @ shares[i]
    together = joint - rows[:, :, None] - columns[:, None, :] + whole[:, None, None]
    kept = np.s_[:, : n_values[i], : n_values[j]]
    scores = joint[kept]
    answers = model.from_scores(scores.reshape(len(scores), -1))
    shape = (*scores.shape[1:], *answers.shape[1:])
    return PairEffect((first, second), answers.reshape(shape), together[kept])


def _place(model: BoostedForest, feature: str) -> int:
    check_is_fitted(model, "ledger_")
    names = model.schema_.feature_names
    if feature not in names:
        raise ValueError(f"feature {feature!r} is not in the schema; choose one of {list(names)}")
    return names.index(feature)


def _shifted(model: BoostedForest, scores: Values, shift: Values) -> Values:
    """The answers when the score of a class, one after the other, is off by so much."""
    if len(scores) == 1:
        moved = model.from_scores(scores + shift)
        if moved.ndim == 2:  # of two classes, what one gains the other loses
            moved[:, 0] = model.from_scores(scores - shift)[:, 0]
        return moved
    answers = []
    for c in range(len(scores)):
        moved = scores.copy()
        moved[c] += shift
        answers.append(model.from_scores(moved)[:, c])
    return np.column_stack(answers)


def mean_scores(forest: BoostedTrees, feature: int, weights: tuple[Values, ...]) -> Values:
    """Average the scores over the bins of all features but one.

    Parameters
    ----------
    forest : BoostedTrees
    feature : int
        The feature that is not averaged.
    weights : tuple of arrays
        The share of each bin of each feature.

    Returns
    -------
    ndarray of shape (n_outputs, n_bins)
        With the bins of the feature.

    Notes
    -----
    The levels of a tree that ask different features are independent, so the chance of a leaf is a
    product over features; levels that ask the same feature are taken together.
    """
    expected = _expected(forest, (feature,), weights)
    asked, agrees = _agreement(forest.trees, feature, expected.shape[2], len(weights[feature]))
    elsewhere = expected[~asked].sum(axis=(0, 2))
    scores = np.tensordot(expected[asked], agrees, axes=([0, 2], [0, 1]))
    return np.asarray(scores + elsewhere[:, None])


def mean_pair_scores(
    forest: BoostedTrees, first: int, second: int, weights: tuple[Values, ...]
) -> Values:
    """Average the scores over the bins of all features but two, shape (n_outputs, bins, bins)."""
    expected = _expected(forest, (first, second), weights)
    sides = []
    for feature in (first, second):
        asked, agrees = _agreement(forest.trees, feature, expected.shape[2], len(weights[feature]))
        side = np.ones((len(expected), *agrees.shape[1:]))
        side[asked] = agrees
        sides.append(side)
    return np.asarray(np.einsum("tol,tla,tlb->oab", expected, *sides, optimize=True))


def _expected(
    forest: BoostedTrees, kept: tuple[int, ...], weights: tuple[Values, ...]
) -> NDArray[np.floating[Any]]:
    """The values of the leaves, times the chance that the features not kept lead there."""
    n_leaves = forest.values.shape[2]
    # Leaves that a shallower tree lacks have no chance.
    chance = (np.arange(n_leaves) < (1 << forest.trees.depth)[:, None]).astype(np.float64)
    for other, shares in enumerate(weights):
        if other not in kept:
            asked, agrees = _agreement(forest.trees, other, n_leaves, len(shares))
            chance[asked] *= agrees @ shares
    return np.asarray(forest.values * chance[:, None, :])


def _agreement(
    trees: ObliviousTrees, feature: int, n_leaves: int, n_bins: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which trees ask a feature, and which of its bins (last axis) their leaves allow."""
    asks = (trees.feature == feature) & (np.arange(trees.feature.shape[1]) < trees.depth[:, None])
    asked = asks.any(axis=1)
    agrees = np.ones((int(asked.sum()), n_leaves, n_bins), np.bool_)
    leaf = np.arange(n_leaves)
    for level, asks_here in enumerate(asks.T):
        right = trees.goes_right[asks_here, level, :n_bins]
        bit = (leaf >> level & 1).astype(np.bool_)
        agrees[asks_here[asked]] &= right[:, None, :] == bit[:, None]
    return asked, agrees

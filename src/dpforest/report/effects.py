"""What a forest makes of one feature, the others averaged: from released arrays alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.report.effect_kernels import add_mean_scores
from dpforest.schema import CategoricalFeature
from dpforest.schema.categories import Category
from dpforest.tables.grouping import group_names

if TYPE_CHECKING:
    from dpforest.forests.boosted_base import BoostedForest
    from dpforest.forests.boosting import BoostedTrees

ENDS = ("lower end", "median", "upper end")  # the answers of a model of intervals
DEVIATIONS = 2.0  # of the noise, on either side of an effect
NO_FEATURE = -1


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
    return feature_effects(model, (feature,))[0]


def feature_effects(model: BoostedForest, features: Sequence[str]) -> tuple[FeatureEffect, ...]:
    """Compute the effects of some features: the forests of noise are the same for all."""
    places = [_place(model, feature) for feature in features]
    forest, noise = model.forest_, model.noise_forest()
    return tuple(_effect(model, j, forest, noise) for j in places)


def _effect(
    model: BoostedForest, j: int, forest: BoostedTrees, noise: BoostedTrees
) -> FeatureEffect:
    n_values, shares = model.encoding_.n_values[j], model.released_shares
    scores = mean_scores(forest, j, shares)[:, :n_values]
    runs = mean_scores(noise, j, shares)[:, :n_values]
    reach = DEVIATIONS * runs.std(axis=0, ddof=1)
    answers = model.from_scores(scores)
    low, high = (_shifted(model, scores, sign * reach) for sign in (-1.0, 1.0))
    declared, cuts = model.schema_.features[j], model.encoding_.cuts[j]
    name, edges, labels = declared.name, None, None
    if isinstance(declared, CategoricalFeature) or cuts is None:
        labels = group_names(declared.categories)  # type: ignore[union-attr]
    else:
        edges = np.concatenate([[declared.low], cuts, [declared.high]])
    return FeatureEffect(name, labels, edges, answers, low, high, model.told)


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
    return _mean_scores(forest, (feature, NO_FEATURE), weights)[:, :, 0]


def mean_pair_scores(
    forest: BoostedTrees, first: int, second: int, weights: tuple[Values, ...]
) -> Values:
    """Average the scores over the bins of all features but two, shape (n_outputs, bins, bins)."""
    return _mean_scores(forest, (first, second), weights)


def _mean_scores(
    forest: BoostedTrees, kept: tuple[int, int], weights: tuple[Values, ...]
) -> Values:
    longest = max(map(len, weights))
    shares = np.array([np.pad(of_bins, (0, longest - len(of_bins))) for of_bins in weights])
    n_bins = [1 if feature == NO_FEATURE else len(weights[feature]) for feature in kept]
    scores = np.zeros((forest.values.shape[1], *n_bins))
    trees = forest.trees
    arrays = trees.feature, trees.goes_right, trees.depth
    add_mean_scores(arrays, forest.values, shares, kept, scores)
    return scores

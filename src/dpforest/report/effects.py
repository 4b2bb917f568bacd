"""What a forest makes of one feature, the others averaged: from released arrays alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.schema import CategoricalFeature
from dpforest.schema.categories import Category

if TYPE_CHECKING:
    from dpforest.forests.boosted_base import BoostedForest
    from dpforest.forests.boosting import BoostedTrees
    from dpforest.trees.oblivious import ObliviousTrees


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
    answers : ndarray of shape (n_bins, n_classes) or (n_bins,)
        The probability of each class, or the target.
    """

    feature: str
    categories: tuple[Category, ...] | None
    edges: Values | None
    answers: Values


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
    check_is_fitted(model, "ledger_")
    names = model.schema_.feature_names
    if feature not in names:
        raise ValueError(f"feature {feature!r} is not in the schema; choose one of {list(names)}")
    j = names.index(feature)
    shares, n_values = model.released_shares, model.encoding_.n_values[j]
    answers = model.from_scores(mean_scores(model.forest_, j, shares)[:, :n_values])
    declared, cuts = model.schema_.features[j], model.encoding_.cuts[j]
    if isinstance(declared, CategoricalFeature) or cuts is None:
        return FeatureEffect(feature, declared.categories, None, answers)  # type: ignore[union-attr]
    edges = np.concatenate([[declared.low], cuts, [declared.high]])
    return FeatureEffect(feature, None, edges, answers)


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
    n_trees, _, n_leaves = forest.values.shape
    chance = np.ones((n_trees, n_leaves))
    for other, shares in enumerate(weights):
        if other != feature:
            asked, agrees = _agreement(forest.trees, other, n_leaves, len(shares))
            chance[asked] *= agrees @ shares
    expected = forest.values * chance[:, None, :]
    asked, agrees = _agreement(forest.trees, feature, n_leaves, len(weights[feature]))
    elsewhere = expected[~asked].sum(axis=(0, 2))
    scores = np.tensordot(expected[asked], agrees, axes=([0, 2], [0, 1]))
    return np.asarray(scores + elsewhere[:, None])


def _agreement(
    trees: ObliviousTrees, feature: int, n_leaves: int, n_bins: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which trees ask a feature, and which of its bins (last axis) their leaves allow."""
    asks = trees.feature == feature
    asked = asks.any(axis=1)
    agrees = np.ones((int(asked.sum()), n_leaves, n_bins), np.bool_)
    leaf = np.arange(n_leaves)
    for level, asks_here in enumerate(asks.T):
        right = trees.goes_right[asks_here, level, :n_bins]
        bit = (leaf >> level & 1).astype(np.bool_)
        agrees[asks_here[asked]] &= right[:, None, :] == bit[:, None]
    return asked, agrees

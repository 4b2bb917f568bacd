"""What each feature contributes to a single score: exact Shapley values, from released numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.report.effects import ENDS
from dpforest.report.shapley_kernels import add_contributions, tree_contributions
from dpforest.schema import Target
from dpforest.schema.categories import Category
from dpforest.tables.frames import Frame
from dpforest.tables.routing_kernels import find_oblivious_leaves
from dpforest.trees.oblivious import MAX_DEPTH

if TYPE_CHECKING:
    from dpforest.forests.boosted_base import BoostedForest
    from dpforest.forests.boosting import BoostedTrees

MOST_NAMED = 4  # features of a sentence


@dataclass(frozen=True)
class Contributions:
    """What the features contribute to the scores of some records.

    ``values.sum(axis=1) + mean`` are the scores, as ``decision_function`` gives them (in units of
    the scores, for a regressor in those of the target).

    Parameters
    ----------
    names : tuple of str
        The features.
    values : ndarray of float64, shape (n, n_features) or (n, n_features, n_classes)
    mean : float, or ndarray of shape (n_classes,)
        The score that is expected when nothing is known of a record.
    data : ndarray of object, shape (n, n_features)
        The values of the features, as they came.
    target : Target
        Its name, and its classes or bounds.
    """

    names: tuple[str, ...]
    values: Values
    mean: Any
    data: NDArray[Any]
    target: Target

    @property
    def scores(self) -> Values:
        """What the contributions and the mean add up to."""
        return np.asarray(self.values.sum(axis=1) + self.mean)

    @property
    def outputs(self) -> tuple[Category, ...]:
        """What can be explained: a class, an end of an interval or its median, or the target."""
        if self.target.classes is not None:
            return self.target.classes
        return ENDS if self.values.ndim == 3 else (self.target.name,)

    def predicted(self, record: int) -> Category:
        """What is predicted of a record: the likeliest class, the median, or the target."""
        if self.target.classes is None:
            return self.outputs[len(self.outputs) // 2]
        scores = np.atleast_1d(self.scores[record])
        place = int(scores[0] > 0) if len(scores) == 1 else int(scores.argmax())
        return self.outputs[place]

    def of_output(self, record: int, output: Category) -> tuple[Values, float]:
        """What the features contribute to one of the `outputs`, and its mean.

        With two classes there is one score, that of the second; the first has the opposite.
        """
        if output not in self.outputs:
            raise ValueError(f"output is {output!r}, expected one of {list(self.outputs)}")
        place = self.outputs.index(output)
        if self.values.ndim == 3:
            return self.values[record, :, place], float(self.mean[place])
        sign = -1.0 if place < len(self.outputs) - 1 else 1.0
        return sign * self.values[record], sign * float(self.mean)

    def sentence(self, record: int, output: Category | None = None) -> str:
        """Say in words what made the score, or the prediction, of one record.

        Parameters
        ----------
        record : int
            Its place.
        output : optional
            A class, or "lower end", "median" or "upper end" of an interval. By default what is
            predicted; of two classes the second, whose score it is that ``scores`` has.
        """
        told = self.explained(record) if output is None else output
        values, mean = self.of_output(record, told)
        score = mean + float(values.sum())
        digits = 2 if self.target.classes is not None else _digits(score, mean)
        order = np.argsort(-np.abs(values), kind="stable")[:MOST_NAMED]
        parts = [
            f"{self.names[j]} = {self.data[record, j]} {'adds' if values[j] >= 0 else 'takes'} "
            f"{abs(values[j]):,.{digits}f}"
            for j in order
        ]
        rest = float(values.sum() - values[order].sum())
        others = f", all others {rest:+,.{digits}f}" if len(values) > MOST_NAMED else ""
        subject = self._subject(told)
        if output is None and self.target.classes is not None:
            subject = f"{self.predicted(record)} is predicted: the {subject[4:]}"
        held = self._held(score, digits)
        score_and_mean = f"{score:,.{digits}f}{held}, where {mean:,.{digits}f} is the mean"
        return f"{subject} is {score_and_mean}: {', '.join(parts)}{others}."

    def explained(self, record: int) -> Category:
        """What a sentence is about by default: the predicted; of two classes the second's score."""
        has_one_score = self.target.classes is not None and self.values.ndim == 2
        return self.outputs[-1] if has_one_score else self.predicted(record)

    def _subject(self, output: Category) -> str:
        if self.target.classes is not None:
            return f"The score of {output}"
        if self.values.ndim == 3:
            return f"The {output} of {self.target.name}"
        return self.target.name

    def _held(self, score: float, digits: int) -> str:
        """Predictions are held to the bounds of the target, which sums of contributions are not."""
        if self.target.low is None or self.target.high is None:
            return ""
        held = min(max(score, self.target.low), self.target.high)
        return "" if held == score else f" ({held:,.{digits}f} within its bounds)"

    def to_shap(self) -> Any:
        """The same as shap's ``Explanation``, for its plots; shap comes by itself."""
        try:
            from shap import Explanation
        except ImportError as error:
            raise ImportError(
                "to_shap needs shap, which is not installed: pip install shap"
            ) from error
        base = np.broadcast_to(self.mean, (len(self.values), *np.shape(self.mean)))
        return Explanation(
            self.values, base_values=base, data=self.data, feature_names=list(self.names)
        )


def contributions(model: BoostedForest, X: Any) -> Contributions:
    """The exact Shapley values of the scores of some records.

    The game: a feature that is not known has the released shares of its bins, whatever the others
    are. Nothing but released numbers and the records of the question take part, so it is free.

    Parameters
    ----------
    model : PrivateForestClassifier or PrivateForestRegressor
        Fitted.
    X : pandas, polars or pyarrow frame, or array of shape (n, n_features)

    Returns
    -------
    Contributions

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    >>> parts = contributions(forest.fit(census.X, census.y), census.X[:3])
    >>> bool(np.allclose(parts.scores, forest.decision_function(census.X[:3]), atol=1e-4))
    True
    """
    check_is_fitted(model, "ledger_")
    bins = model._bins(X, order="F")
    values, means = shapley_values(model.forest_, model.released_shares, bins)
    scale, center = model.score_units
    values, mean = scale * values, center + scale * means
    frame = Frame(X).select(model.schema_)
    columns = [frame.series(j).to_numpy() for j in range(model.schema_.n_features)]
    data = np.column_stack([np.asarray(column, object) for column in columns])
    names, target = model.schema_.feature_names, model.schema_.target
    assert target is not None  # the model is fitted
    if values.shape[2] == 1:
        return Contributions(names, values[:, :, 0], float(mean[0]), data, target)
    return Contributions(names, values, mean, data, target)


def _digits(*numbers: float) -> int:
    """Places after the point that show four digits of the largest number."""
    largest = max(map(abs, numbers))
    return max(0, 3 - math.floor(math.log10(largest))) if largest else 2


def shapley_values(
    forest: BoostedTrees, shares: tuple[Values, ...], bins: NDArray[np.uint8]
) -> tuple[Values, Values]:
    """Shapley values, shape (n, n_features, n_outputs), and mean scores, shape (n_outputs,).

    Parameters
    ----------
    forest : BoostedTrees
    shares : tuple of arrays
        Of the records in each bin of each feature.
    bins : ndarray of uint8, shape (n, n_features), the bins of a feature together
    """
    trees, values = forest.trees, forest.values.astype(np.float64)
    n_trees, n_outputs, n_leaves = values.shape
    padded = np.zeros((len(shares), 256))
    for row, of_bins in zip(padded, shares, strict=True):
        row[: len(of_bins)] = of_bins / of_bins.sum()
    asked = np.full((n_trees, MAX_DEPTH), -1, np.int64)
    table = np.zeros((n_trees, n_leaves, MAX_DEPTH, n_outputs))
    means = np.zeros((n_trees, n_outputs))
    structure = trees.feature, trees.goes_right, trees.depth
    tree_contributions(*structure, values, padded, table, asked, means)
    leaf = np.empty((n_trees, len(bins)), np.uint8)
    find_oblivious_leaves(bins.T, trees.routing_arrays, leaf)
    found = np.zeros((len(bins), len(shares), n_outputs))
    add_contributions(leaf, asked, table, found)
    return found, means.sum(axis=0)

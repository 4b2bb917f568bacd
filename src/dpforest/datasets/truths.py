"""Synthetic tables of the shape of a schema, with truths from weak to strong; nothing is private.

Numbers are uniform within their bounds, categories more or less frequent. What there is to learn is
a score of three features (or as many as there are): a sum of them, or a product of two with the
third added, which no feature shows alone. Its strength is how far apart it drives the classes, or
which share of the variance of a number it explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from dpforest.arrays import Values
from dpforest.schema import CategoricalFeature, Schema

N_ACTIVE = 3
RARER = 0.6  # what the logarithm of a class's share falls by, from class to class
NARROW = 6.0  # deviations of a number's score between its bounds


@dataclass(frozen=True)
class Truth:
    """What there is to learn.

    Parameters
    ----------
    name : str
    spread : float
        The deviation of the scores of classes; 0.8 is hardly better than guessing.
    explained : float
        The share of the variance of a number.
    product : bool
        Whether two features matter by their product only.
    """

    name: str
    spread: float
    explained: float
    product: bool = False

    def draw(
        self, schema: Schema, n_records: int, rng: np.random.Generator
    ) -> tuple[Any, NDArray[Any]]:
        """Draw a table and its target.

        Parameters
        ----------
        schema : Schema
            With a target.
        n_records : int
        rng : numpy.random.Generator
            Another one draws other features that matter.

        Returns
        -------
        X : ndarray of objects, shape (n_records, n_features)
        y : ndarray
        """
        X, known = _features(schema, n_records, rng)
        assert schema.target is not None
        n_classes = 1 if schema.target.classes is None else len(schema.classes)
        active = rng.permutation(known.shape[1])[:N_ACTIVE]
        # Of two classes one has a score: two scores of the same features could cancel out.
        n_scores = 1 if n_classes <= 2 else n_classes
        scores = np.column_stack([self._score(known[:, active], rng) for _ in range(n_scores)])
        if schema.target.classes is None:
            low, high = schema.target_bounds
            noise = rng.normal(size=n_records) * np.sqrt(1 - self.explained)
            number = (np.sqrt(self.explained) * scores[:, 0] + noise) / NARROW + 0.5
            return X, np.clip(low + (high - low) * number, low, high)
        if n_classes == 2:
            scores = np.column_stack([np.zeros(n_records), scores])
        chances = softmax(self.spread * scores - RARER * np.arange(n_classes), axis=1)
        codes = (chances.cumsum(axis=1) < rng.random((n_records, 1))).sum(axis=1)
        return X, np.array(schema.classes)[np.minimum(codes, n_classes - 1)]

    def _score(self, known: Values, rng: np.random.Generator) -> Values:
        k = known.shape[1]
        parts = known * rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.0, k)
        if self.product and k > 1:
            parts = np.column_stack([2.0 * parts[:, 0] * parts[:, 1], 0.5 * parts[:, 2:]])
        score = parts.sum(axis=1)
        return np.asarray((score - score.mean()) / max(float(score.std()), 1e-12))


TRUTHS = (
    Truth("weak sum", 0.8, 0.15),
    Truth("clear sum", 2.0, 0.5),
    Truth("strong sum", 5.0, 0.9),
    Truth("clear product", 2.0, 0.5, product=True),
    Truth("strong product", 5.0, 0.9, product=True),
)


def _features(
    schema: Schema, n_records: int, rng: np.random.Generator
) -> tuple[NDArray[Any], Values]:
    """The table, and each feature as a number of deviation 1."""
    X = np.empty((n_records, schema.n_features), object)
    known = np.empty((n_records, schema.n_features))
    for j, feature in enumerate(schema.features):
        if isinstance(feature, CategoricalFeature):
            k = len(feature.categories)
            shares = rng.dirichlet(np.full(k, 2.0))
            codes = rng.choice(k, n_records, p=shares)
            X[:, j] = np.array(feature.categories, object)[codes]
            levels = np.linspace(-1.7, 1.7, k) if k > 1 else np.zeros(1)
            known[:, j] = rng.permutation(levels)[codes]
        else:
            place = rng.random(n_records)
            values = feature.low + (feature.high - feature.low) * place
            X[:, j] = np.rint(values) if feature.integer else values
            known[:, j] = np.sqrt(12.0) * (place - 0.5)
    return X, known

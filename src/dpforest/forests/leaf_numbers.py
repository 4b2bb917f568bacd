"""The leaves that records fall into, by their numbers, as scikit-learn's forests tell them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.forests.boosting import BoostedTrees
from dpforest.tables.routing import find_leaves, find_oblivious_leaves


class NumberedLeaves:
    """Gives every estimator ``apply``; not to be used by itself."""

    forest_: Any
    n_jobs: int | None
    _bins: Any

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf that each record falls into in each tree, shape (n, n_trees); free.

        Numbers of boosted trees start at 0 in every tree, and bit k is the answer to the question
        of level k; those of other forests count on from tree to tree, as ``leaf_values_`` does.

        Parameters
        ----------
        X
            The records, as in ``predict``.

        Examples
        --------
        >>> from dpforest import RandomDecisionForestClassifier, datasets
        >>> census = datasets.make_census(500, random_state=0)
        >>> forest = RandomDecisionForestClassifier(
        ...     schema=census.schema, n_estimators=3, max_depth=2, random_state=0
        ... ).fit(census.X, census.y)
        >>> forest.apply(census.X).shape
        (500, 3)
        """
        check_is_fitted(self)
        if isinstance(self.forest_, BoostedTrees):
            bins = self._bins(X, order="F")
            return find_oblivious_leaves(self.forest_.trees, bins, self.n_jobs)
        return find_leaves(self.forest_, self._bins(X), self.n_jobs)

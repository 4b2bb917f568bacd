"""Multi-way trees that grow level by level from attributes that were released.

In the manner of ID3: a node asks for an attribute that is new on its way from the root and has a
child for each bin of it. A level is one question, as in `dpforest.trees.level_grower`; everything
here is post-processing of the answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.growing import GrowingTrees
from dpforest.trees.structure import FeatureBins, Forest


@dataclass(frozen=True)
class AttributeQuestion:
    """The nodes of a level and the attributes that they may choose from.

    Parameters
    ----------
    forest : Forest
        The trees so far. Their leaves that may be split are numbered first.
    features : ndarray of int32, shape (n_nodes, n_candidates)
        The candidates of each such leaf; -1 for none.
    bins : FeatureBins
    """

    forest: Forest
    features: NDArray[np.int32]
    bins: FeatureBins

    @property
    def n_bins(self) -> int:
        """The most bins that a feature has."""
        return int(self.bins.n_bins.max())


class AttributeGrower:
    """Grows multi-way trees from the answers to one `AttributeQuestion` a level.

    Children for missing and for unseen values stay leaves: few records are expected there. So
    does a node whose share of the public volume is small, as if records were spread evenly.

    Parameters
    ----------
    bins : FeatureBins
        The features.
    n_trees, n_candidates : int
        The trees, and the attributes that a node may choose from.
    max_leaf_nodes : int
        A node with less than one part in this many of the volume stays a leaf.
    rng : numpy.random.Generator
        The public stream of the structure.
    """

    def __init__(
        self,
        bins: FeatureBins,
        *,
        n_trees: int,
        n_candidates: int,
        max_leaf_nodes: int,
        rng: np.random.Generator,
    ) -> None:
        self._bins = bins
        self._n_candidates = min(n_candidates, len(bins))
        self._max_leaf_nodes = max_leaf_nodes
        self._rng = rng
        self._trees = GrowingTrees(n_trees, multiway=True)
        self._open = np.arange(n_trees)
        self._free = np.tile(bins.n_values > 1, (n_trees, 1))
        self._share = np.ones(n_trees)
        self._question: AttributeQuestion | None = None

    def ask(self) -> AttributeQuestion | None:
        """The question of the next level; None when no node can be split."""
        large = self._share * self._max_leaf_nodes > 1.0 + 1e-9
        self._keep_open(large & self._free.any(axis=1))
        if not len(self._open):
            return None
        self._trees.choices[self._open] += 1
        keys = np.where(self._free, self._rng.random(self._free.shape), -1.0)
        features = np.argsort(-keys, axis=1)[:, : self._n_candidates]
        features[np.take_along_axis(keys, features, axis=1) < 0.0] = -1
        self._question = AttributeQuestion(
            self._trees.forest(self._open), features.astype(np.int32), self._bins
        )
        return self._question

    def answer(self, candidate: NDArray[np.int64], option: NDArray[np.int64]) -> None:
        """Split the nodes of the question as was released; a candidate of -1 leaves a leaf.

        There is one way to split by an attribute, so its option is always 0.
        """
        assert not option.any()
        assert self._question is not None
        chosen = np.flatnonzero(candidate >= 0)
        feature = self._question.features[chosen, candidate[chosen]].astype(np.int64)
        fan_out = self._bins.n_bins[feature]
        children = self._trees.split(self._open[chosen], feature, fan_out)
        self._free = self._free[chosen]
        self._free[np.arange(len(chosen)), feature] = False
        self._free = np.repeat(self._free, fan_out, axis=0)
        self._share = np.repeat(self._share[chosen] / self._bins.n_values[feature], fan_out)
        self._open = children
        place = np.arange(len(children)) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)
        self._keep_open(place < np.repeat(self._bins.n_values[feature], fan_out))

    def finish(self) -> Forest:
        """The forest, its nodes numbered tree after tree."""
        return self._trees.finish()

    @property
    def leaf_choices(self) -> NDArray[np.int64]:
        """The choices made on the way to each leaf of the finished forest."""
        return self._trees.leaf_choices

    def _keep_open(self, these: NDArray[np.bool_]) -> None:
        self._open, self._free = self._open[these], self._free[these]
        self._share = self._share[these]

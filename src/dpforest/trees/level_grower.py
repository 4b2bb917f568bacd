"""Trees that grow level by level, all of them at once, from splits that were released.

A level is one question: for every node that may still be split, some candidate features and where
each may be cut, drawn from public facts. The answer, a candidate and a cut a node, is a release.
Everything here is post-processing of such answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.trees.growers import LOWEST_BITS, ONE_BIT
from dpforest.trees.growing import GrowingTrees
from dpforest.trees.structure import WORDS_PER_NODE, FeatureBins, Forest

BINS = 64 * WORDS_PER_NODE
Categories = Literal["subset", "one_vs_rest"]
SplitChoice = Literal["pay", "joint", "attribute"]
"""How a node chooses among candidates; see `mechanisms.splitting.choose_splits`."""


@dataclass(frozen=True)
class SplitQuestion:
    """The nodes of a level and the splits that they may choose from.

    Option c of a feature sends the bins ``order[feature, :c + 1]`` to the left; one against the
    rest sends the bin c alone. Missing and unseen values go with the first or the last bin.

    Parameters
    ----------
    forest : Forest
        The trees so far. Their leaves that may be split are numbered first.
    features : ndarray of int32, shape (n_nodes, n_candidates)
        The candidate features of each such leaf; -1 for none.
    order : ndarray of int64, shape (n_features, 256)
        The bins of a feature in the order in which they are cut: as they are, or shuffled
        categories.
    missing_first : ndarray of bool, shape (n_features,)
        Whether missing and unseen values go with the first bin of the order, or the last.
    one_vs_rest : ndarray of bool, shape (n_features,)
        Whether options are single bins.
    bins : FeatureBins
    lengths : ndarray of int64, shape (n_features, 256)
        The public weight of each option.
    boxes : ndarray of uint64, shape (n_nodes, n_features, 4)
        The bins of values that can reach each node.
    even_cuts : int
        So many cuts of a numeric feature, evenly over the box of a node; 0 for all.
    """

    forest: Forest
    features: NDArray[np.int32]
    order: NDArray[np.int64]
    missing_first: NDArray[np.bool_]
    one_vs_rest: NDArray[np.bool_]
    bins: FeatureBins
    lengths: NDArray[np.int64]
    boxes: NDArray[np.uint64]
    even_cuts: int = 0

    @property
    def n_bins(self) -> int:
        """The most bins that a feature has."""
        return int(self.bins.n_bins.max())

    def weights(self, rows: slice) -> NDArray[np.int64]:
        """The weight of every option of some nodes, 0 where one side would be empty.

        Returns
        -------
        ndarray of int64, shape (nodes, n_candidates, n_bins)
        """
        features = self.features[rows]
        nodes = np.arange(len(self.features))[rows, np.newaxis]
        box = np.ascontiguousarray(self.boxes[nodes, features], "<u8").view(np.uint8)
        reached = np.unpackbits(box, axis=-1, bitorder="little", count=self.n_bins)
        places = self.order[features, : self.n_bins]
        upto = np.cumsum(np.take_along_axis(reached, places, axis=-1), axis=-1, dtype=np.int16)
        splits = (upto > 0) & (upto < upto[..., -1:])
        alone = (reached > 0) & (upto[..., -1:] > 1)
        splits = np.where(self.one_vs_rest[features][..., np.newaxis], alone, splits)
        if self.even_cuts:
            part = (self.even_cuts + 1) * upto // np.maximum(upto[..., -1:], 1)
            is_cut = np.diff(part, axis=-1, prepend=0) > 0
            splits &= is_cut | self.bins.categorical[features][..., np.newaxis]
        splits &= (features >= 0)[..., np.newaxis]
        return np.asarray(splits * self.lengths[features, : self.n_bins])


class LevelGrower:
    """Grows binary trees from the answers to one `SplitQuestion` a level.

    Parameters
    ----------
    bins : FeatureBins
        The features.
    lengths : ndarray of int64, shape (n_features, 256)
        The public weight of cutting a feature after each of its bins.
    n_trees, n_candidates : int
        The trees, and the features that a node may choose from.
    categories : {"subset", "one_vs_rest"}
        Split categories where a random order of them is cut, or one of them off the rest.
    even_cuts : int
        As in `SplitQuestion`.
    rng : numpy.random.Generator
        The public stream of the structure.
    """

    def __init__(
        self,
        bins: FeatureBins,
        lengths: NDArray[np.int64],
        *,
        n_trees: int,
        n_candidates: int,
        categories: Categories,
        rng: np.random.Generator,
        even_cuts: int = 0,
    ) -> None:
        self._bins = bins
        self._even_cuts = even_cuts
        self._lengths = lengths
        self._n_candidates = min(n_candidates, len(bins))
        self._one_vs_rest = bins.categorical & (categories == "one_vs_rest")
        self._rng = rng
        self._trees = GrowingTrees(n_trees, multiway=False)
        self._open = np.arange(n_trees)
        self._boxes = np.tile(LOWEST_BITS[bins.n_values], (n_trees, 1, 1))
        self._question: SplitQuestion | None = None

    def ask(self) -> SplitQuestion | None:
        """The question of the next level; None when no node can be split."""
        splittable = np.bitwise_count(self._boxes).sum(axis=2) > 1
        can_split = splittable.any(axis=1)
        self._open, self._boxes = self._open[can_split], self._boxes[can_split]
        if not len(self._open):
            return None
        self._trees.choices[self._open] += 1
        splittable = splittable[can_split]
        keys = np.where(splittable, self._rng.random(splittable.shape), -1.0)
        features = np.argsort(-keys, axis=1)[:, : self._n_candidates]
        features[np.take_along_axis(keys, features, axis=1) < 0.0] = -1
        self._question = SplitQuestion(
            forest=self._trees.forest(self._open),
            features=features.astype(np.int32),
            order=self._draw_order(),
            missing_first=(self._rng.random(len(self._bins)) < 0.5) & ~self._one_vs_rest,
            one_vs_rest=self._one_vs_rest,
            bins=self._bins,
            lengths=self._lengths,
            boxes=self._boxes,
            even_cuts=self._even_cuts,
        )
        return self._question

    def answer(self, candidate: NDArray[np.int64], option: NDArray[np.int64]) -> None:
        """Split the nodes of the question as was released; a candidate of -1 leaves a leaf."""
        question = self._question
        assert question is not None
        chosen = np.flatnonzero(candidate >= 0)
        feature = question.features[chosen, candidate[chosen]].astype(np.int64)
        right = _bins_to_the_right(question, feature, option[chosen])
        nodes = self._open[chosen]
        children = self._trees.split(nodes, feature, np.full(len(nodes), 2), right)
        boxes = np.repeat(self._boxes[chosen], 2, axis=0)
        rows = np.arange(len(nodes))
        boxes[2 * rows, feature] &= ~right
        boxes[2 * rows + 1, feature] &= right
        self._open, self._boxes = children, boxes

    def finish(self) -> Forest:
        """The forest, its nodes numbered tree after tree."""
        return self._trees.finish()

    @property
    def leaf_choices(self) -> NDArray[np.int64]:
        """The choices made on the way to each leaf of the finished forest."""
        return self._trees.leaf_choices

    def _draw_order(self) -> NDArray[np.int64]:
        order = np.tile(np.arange(BINS), (len(self._bins), 1))
        for j in np.flatnonzero(self._bins.categorical & ~self._one_vs_rest):
            n_values = self._bins.n_values[j]
            order[j, :n_values] = self._rng.permutation(n_values)
        return order


def _bins_to_the_right(
    question: SplitQuestion, feature: NDArray[np.int64], option: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Which bins go right, as bits, for features that are split by these options."""
    beyond = np.arange(BINS) > option[:, np.newaxis]
    rows = np.arange(len(feature))[:, np.newaxis]
    bits = np.zeros((len(feature), BINS), np.bool_)
    bits[rows, question.order[feature]] = beyond
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    alone = question.one_vs_rest[feature, np.newaxis]
    packed = np.where(alone, ~ONE_BIT[option], packed)
    values = LOWEST_BITS[question.bins.n_values[feature]]
    others = np.where(question.missing_first[feature, np.newaxis], np.uint64(0), ~values)
    return np.asarray((packed & values) | others, np.uint64)

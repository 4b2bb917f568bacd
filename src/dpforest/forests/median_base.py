"""What median forests share: the plan, and growing level by level from released splits."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.forests import parameters as checks
from dpforest.forests.declared import one_of, parameter
from dpforest.forests.parameters import Auto
from dpforest.forests.tree_forest import TreeForest
from dpforest.privacy.accounts.spends import Amount, exact
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.median_splits import choose_median_splits
from dpforest.privacy.tree_payments import whole
from dpforest.schema import NumericFeature
from dpforest.tables.encode import Encoding
from dpforest.trees.balance import median_depth, median_trees
from dpforest.trees.growers import grow_binary, most_trees, refuse_deep_trees
from dpforest.trees.level_grower import (
    BINS,
    Categories,
    LevelGrower,
    SplitChoice,
    SplitQuestion,
)
from dpforest.trees.structure import Forest

GRID_CUTS = 10
LENGTH_UNITS = 1 << 20  # the length of a feature's range, in whole numbers

Target = int | tuple[float, float]  # the number of classes, or bounds


def between_0_and_1(name: str, value: Any) -> None:
    """Check that a parameter lies strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")


class MedianForest(TreeForest):
    """What the classifier and the regressor share; not to be used by itself."""

    n_estimators: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    max_depth: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    n_candidates: int = parameter(default=10, check=checks.count())
    rho: float = parameter(default=0.5, check=between_0_and_1)
    splits: Literal["median", "random"] = one_of("median", "random", default="median")
    choice: SplitChoice = one_of("pay", "joint", "attribute", default="attribute")
    sampling: Literal["shared", "disjoint"] = one_of("shared", "disjoint", default="disjoint")
    cuts: Literal["range", "grid"] = one_of("range", "grid", default="range")
    categories: Categories = one_of("subset", "one_vs_rest", default="subset")
    max_bins: int = parameter(default=255, check=checks.count(low=2))

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Grow the trees level by level and release their leaves."""
        self.encoding_ = Encoding.from_schema(self.schema_, max_bins=self.max_bins)
        desk.encode(self.encoding_)
        self.forest_ = self._grow(desk, rng)
        self._release(desk, rng)

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        refuse_deep_trees(self.n_estimators, self.max_depth)

    def _grow(self, desk: Desk, rng: np.random.Generator) -> Forest:
        """Spend rho of what a count leaves on splits, evenly over the levels."""
        n_trees, depth = self._plan(desk)
        if self.splits == "random":
            return grow_binary(self.encoding_.feature_bins, n_trees, depth, rng)
        grower = LevelGrower(
            self.encoding_.feature_bins,
            cut_lengths(self.encoding_, even=self.cuts == "grid"),
            n_trees=n_trees,
            n_candidates=self.n_candidates,
            categories=self.categories,
            even_cuts=GRID_CUTS if self.cuts == "grid" else 0,
            rng=rng,
        )
        target = self._target_of_splits(desk)
        sampling = TreeSampling(self.sampling, n_trees)
        unspent = desk.ledger.unspent_epsilon
        epsilon = _part(unspent, exact(self.rho) / depth)
        for _ in range(depth):
            question = grower.ask()
            if question is None:
                break
            grower.answer(*self._choose(desk, question, target, whole(epsilon), sampling))
        return grower.finish()

    def _plan(self, desk: Desk) -> tuple[int, int]:
        """The number of trees and their depth; ``"auto"`` may pay for a noisy count."""
        n_trees, depth = self.n_estimators, self.max_depth
        if "auto" not in (n_trees, depth):
            return int(n_trees), int(depth)
        n_records, epsilon = self._number_of_records(desk), self._epsilon_of_a_record
        if n_trees == "auto":
            n_trees = int(min(median_trees(n_records, epsilon), most_trees(depth)))
        if depth == "auto":
            share = 1 if self.sampling == "shared" else n_trees
            own = epsilon / (n_trees if self.sampling == "shared" else 1)
            depth = median_depth(n_records / share, self.rho * own)
        return int(n_trees), int(depth)

    def _target(self) -> Target:
        raise NotImplementedError

    def _target_of_splits(self, desk: Desk) -> Target:
        """What splits are chosen by; may spend."""
        return self._target()

    def _release(self, desk: Desk, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _choose(
        self,
        desk: Desk,
        question: SplitQuestion,
        target: Target,
        span: Span,
        sampling: TreeSampling,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return choose_median_splits(desk, question, target, self.choice, span, sampling)


def cut_lengths(encoding: Encoding, *, even: bool) -> NDArray[np.int64]:
    """The public weight of the cut after each bin of each feature.

    The share of the range that lies nearer to this cut than to another, in whole numbers of at
    least 1; all alike for categories, or when asked for.
    """
    lengths = np.ones((len(encoding.cuts), BINS), np.int64)
    for row, feature, cuts in zip(lengths, encoding.schema.features, encoding.cuts, strict=True):
        if even or cuts is None or not isinstance(feature, NumericFeature) or not cuts.size:
            continue
        edges = np.concatenate([[feature.low], (cuts[:-1] + cuts[1:]) / 2.0, [feature.high]])
        shares = np.diff(edges) / (feature.high - feature.low)
        row[: cuts.size] = np.maximum(np.rint(LENGTH_UNITS * shares), 1)
    return lengths


def _part(amount: Amount, share: Amount) -> Amount:
    return amount if math.isinf(amount) else Fraction(amount) * Fraction(share)

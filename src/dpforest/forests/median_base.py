"""What median forests share: the plan, and growing level by level from released splits."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.forests.base import Neighbors, Streams
from dpforest.forests.parameters import check_choice, check_count, check_count_or_auto
from dpforest.forests.tree_forest import TreeForest
from dpforest.privacy.accounts.spends import Amount, exact
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.median_splits import choose_median_splits
from dpforest.privacy.printed import printed_splits
from dpforest.privacy.tree_payments import whole
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.trees.balance import auto_depth, auto_trees
from dpforest.trees.growers import grow_binary, most_trees, refuse_deep_trees
from dpforest.trees.level_grower import (
    BINS,
    Categories,
    Choice,
    LevelGrower,
    Published,
    SplitQuestion,
)
from dpforest.trees.structure import Forest

GRID_CUTS = 10
LENGTH_UNITS = 1 << 20  # the length of a feature's range, in whole numbers

Auto = Literal["auto"]
Target = int | tuple[float, float]  # the number of classes, or bounds
Values = NDArray[np.float64]


class MedianForest(TreeForest):
    """What the classifier and the regressor share; not to be used by itself."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        schema: Schema | dict[str, Any] | None = None,
        n_estimators: int | Auto = "auto",
        max_depth: int | Auto = "auto",
        n_hint: int | None = None,
        n_candidates: int = 10,
        rho: float = 0.5,
        splits: Literal["median", "random"] = "median",
        choice: Choice = "attribute",
        sampling: Literal["shared", "disjoint"] = "disjoint",
        cuts: Literal["range", "grid"] = "range",
        categories: Categories = "subset",
        max_bins: int = 255,
        variant: Literal["as_published"] | None = None,
        neighbors: Neighbors = "add_remove",
        max_records_per_group: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.n_hint = n_hint
        self.n_candidates = n_candidates
        self.rho = rho
        self.splits = splits
        self.choice = choice
        self.sampling = sampling
        self.cuts = cuts
        self.categories = categories
        self.max_bins = max_bins
        self.variant = variant
        self.neighbors = neighbors
        self.max_records_per_group = max_records_per_group
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Grow the trees level by level and release their leaves.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n, n_features)
            The features; frames match the schema by name.
        y : array-like of shape (n,)
            The target.
        groups : array-like of shape (n,), optional
            The person of each record; then persons are protected, not records.

        Returns
        -------
        self
        """
        self._check_parameters(groups)
        streams = Streams.of(self.random_state)
        desk = self._open(X, y, groups, streams)
        if self.variant is not None:
            self._say_there_is_no_guarantee("variant")
        self.encoding_ = Encoding.from_schema(self.schema_, max_bins=self.max_bins)
        desk.encode(self.encoding_)
        with self._spending():
            self.forest_ = self._grow(desk, streams.structure)
            self._release(desk, streams.structure)
        if self.verbose:
            print(self.ledger_.explain())
        return self

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
        n_records = self._number_of_records(desk)
        if n_trees == "auto":
            n_trees = int(min(auto_trees(n_records, self.epsilon), most_trees(depth)))
        if depth == "auto":
            share = 1 if self.sampling == "shared" else n_trees
            epsilon = self.epsilon / (n_trees if self.sampling == "shared" else 1)
            depth = auto_depth(n_records / share, self.rho * epsilon)
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
        if self.variant is None:
            return choose_median_splits(desk, question, target, self.choice, span, sampling)
        printed: Published = "thesis" if self.cuts == "grid" else "diprime"
        return printed_splits(desk, question, target, printed, span, sampling)

    def _check_parameters(self, groups: Any) -> None:
        self._check_shared_parameters(groups)
        check_count_or_auto("n_estimators", self.n_estimators)
        check_count_or_auto("max_depth", self.max_depth)
        refuse_deep_trees(self.n_estimators, self.max_depth)
        check_count("n_candidates", self.n_candidates)
        check_count("max_bins", self.max_bins, low=2)
        if isinstance(self.rho, bool) or not isinstance(self.rho, Real) or not 0 < self.rho < 1:
            raise ValueError(f"rho must be a number between 0 and 1, got {self.rho!r}")
        check_choice("splits", self.splits, ("median", "random"))
        check_choice("choice", self.choice, ("pay", "joint", "attribute"))
        check_choice("sampling", self.sampling, ("shared", "disjoint"))
        check_choice("cuts", self.cuts, ("range", "grid"))
        check_choice("categories", self.categories, ("subset", "one_vs_rest"))
        check_choice("variant", self.variant, (None, "as_published"))
        if self.variant is not None and self.splits == "random":
            raise ValueError("variant='as_published' is about median splits: use splits='median'")


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

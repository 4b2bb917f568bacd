"""Greedy forests: nodes choose the attribute that tells the classes apart, by private choices.

eDPRF (Wang et al. 2024) and the greedy forests that the thesis surveys, repaired;
``docs/privacy/greedy.md`` says what was wrong with them and why the repairs hold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from dpforest.forests.base import Neighbors, PrivateEstimator, Streams
from dpforest.forests.files import named, of_group
from dpforest.forests.parameters import check_choice, check_count, check_count_or_auto
from dpforest.privacy.curator import Curator
from dpforest.privacy.greedy_releases import Rule, Selection, Span
from dpforest.privacy.scores import ScoreName, score_of
from dpforest.privacy.spends import Amount, Pure, exact
from dpforest.privacy.tree_sampling import TreeSampling
from dpforest.records.encode import Encoding
from dpforest.records.routing import add_leaf_values
from dpforest.schema import Schema
from dpforest.trees.attribute_grower import AttributeGrower
from dpforest.trees.ensembles import join_forests
from dpforest.trees.level_budgets import LEVEL_BUDGETS, LevelBudget, LevelShares, share_out
from dpforest.trees.level_grower import BINS, LevelGrower
from dpforest.trees.structure import Forest
from dpforest.trees.votes import leaf_votes, normalise

Values = NDArray[np.float64]
COST = Fraction(1, 4)


class GreedyForestClassifier(ClassifierMixin, PrivateEstimator):
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        schema: Schema | dict[str, Any] | None = None,
        n_estimators: int | Literal["auto"] = "auto",
        max_depth: int | Literal["auto"] = "auto",
        n_hint: int | None = None,
        splits: Literal["multiway", "binary"] = "multiway",
        criterion: ScoreName = "gini",
        n_bound: int = 100_000,
        selection: Selection = "permute_and_flip",
        max_features: int | Literal["sqrt"] | None = None,
        level_budget: LevelBudget = "harmonic",
        align: bool = True,
        stopping: Literal["candidate"] | None = "candidate",
        leaves: Literal["label", "counts"] = "label",
        voting: Literal["majority", "averaging", "weighted"] = "majority",
        sampling: Literal["disjoint", "shared", "without_replacement"] = "disjoint",
        sample_share: float = 0.5,
        second_phase: float = 0.0,
        max_bins: int = 8,
        max_leaf_nodes: int = 1024,
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
        self.splits = splits
        self.criterion = criterion
        self.n_bound = n_bound
        self.selection = selection
        self.max_features = max_features
        self.level_budget = level_budget
        self.align = align
        self.stopping = stopping
        self.leaves = leaves
        self.voting = voting
        self.sampling = sampling
        self.sample_share = sample_share
        self.second_phase = second_phase
        self.max_bins = max_bins
        self.max_leaf_nodes = max_leaf_nodes
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
            The classes.
        groups : array-like of shape (n,), optional
            The person of each record; then persons are protected, not records.

        Returns
        -------
        self
        """
        self._check_parameters(groups)
        streams = Streams.of(self.random_state)
        curator = self._open(X, y, groups, streams)
        self.classes_ = np.array(self.schema_.classes)
        self.encoding_ = Encoding.from_schema(self.schema_, max_bins=self.max_bins)
        curator.encode(self.encoding_)
        with self._spending():
            n_trees, depth = self._plan(curator)
            self._grow(curator, n_trees, depth, streams.structure)
        if self.verbose:
            print(self.ledger_.explain())
        return self

    def _grow(
        self, curator: Curator, n_trees: int, depth: int, rng: np.random.Generator
    ) -> None:
        """Grow the trees, in one phase or two, and release their leaves."""
        later = round(n_trees * self.second_phase)
        epsilon = curator.ledger.unspent_epsilon
        self.forest_, self.leaf_values_ = Forest, None
        phases = []
        for n, trained in ((n_trees - later, None), (later, phases)):
            if not n:
                continue
            sampling = TreeSampling(self.sampling, n, exact(self.sample_share))
            if trained:
                curator.draw_harder_samples(sampling, trained[0][0], self._votes(trained[0][1], rng))
            else:
                curator.draw_samples(sampling)
            part = epsilon if math.isinf(epsilon) else epsilon * n / n_trees
            phases.append(self._phase(curator, depth, part, sampling, rng))
        self.forest_ = join_forests([forest for forest, _ in phases])
        self.leaf_values_ = np.concatenate([values for _, values in phases])
        self._leaf_votes = self._votes(self.leaf_values_, rng)

    def _phase(self, curator, depth, epsilon, sampling, rng):
        shares = share_out(self.level_budget, depth)
        grower = self._grower(sampling.n_trees, rng)
        n_classes = len(self.classes_)
        rule = Rule(
            score_of(self.criterion, self.n_bound),
            self.selection,
            self.cost_ if self.stopping == "candidate" else None,
        )
        levels = 0
        while levels < depth and (question := grower.ask()) is not None:
            start = shares.spent_after(levels)
            counted = start + shares.counts[levels]
            stops = np.zeros(len(question.features), bool)
            if shares.has_counts:
                span = _span(epsilon, start, counted)
                counts, deviation = curator.node_counts(question, n_classes, span, sampling)
                stops = counts < deviation
            span = _span(epsilon, counted, shares.spent_after(levels + 1))
            answer = curator.choose_attributes(question, n_classes, rule, span, sampling)
            candidate = np.where(stops, -1, answer[0])
            if self.splits == "binary":
                grower.answer(candidate, answer[1])
            else:
                grower.answer(candidate)
            levels += 1
        forest = grower.finish()
        spans = [_span(epsilon, shares.spent_after(k), Fraction(1)) for k in range(levels + 1)]
        spent = grower.leaf_choices if self.align else np.full(forest.n_leaves, levels)
        if self.leaves == "label":
            labels = curator.aligned_leaf_labels(forest, n_classes, spent, spans, sampling)
            return forest, np.eye(n_classes)[labels]
        counts, _ = curator.aligned_leaf_counts(forest, n_classes, spent, spans, sampling)
        return forest, counts.astype(float)

    def _grower(self, n_trees, rng):
        n_features = len(self.encoding_.feature_bins)
        k = self.max_features or n_features
        if k == "sqrt":
            k = math.ceil(math.sqrt(n_features))
        if self.splits == "binary":
            even = np.ones((n_features, BINS), np.int64)
            return LevelGrower(self.encoding_.feature_bins, even, n_trees=n_trees, n_candidates=k,
                               categories="subset", rng=rng)
        return AttributeGrower(self.encoding_.feature_bins, n_trees=n_trees, n_candidates=k,
                               max_leaf_nodes=self.max_leaf_nodes, rng=rng)

    cost_ = COST

    def _plan(self, curator):
        return int(self.n_estimators), int(self.max_depth)

    def _votes(self, values, rng):
        return leaf_votes(values, self.voting, rng)

    def predict_proba(self, X: Any) -> Values:
        """The votes for each class, as probabilities, shape (n, n_classes)."""
        bins = self._bins(X)
        return normalise(add_leaf_values(self.forest_, bins, self._leaf_votes, self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _check_parameters(self, groups: Any) -> None:
        self._check_shared_parameters(groups)


def _span(epsilon: Amount, before: Fraction, after: Fraction) -> Span:
    if math.isinf(epsilon):
        return Span(Fraction(0), epsilon)
    return Span(before * epsilon, after * epsilon)

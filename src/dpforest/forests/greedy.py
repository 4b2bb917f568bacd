"""Greedy forests: nodes choose the attribute that tells the classes apart, by private choices.

eDPRF (Wang et al. 2024) and the greedy forests that the thesis surveys, repaired;
``docs/privacy/greedy.md`` says what was wrong with them and why the repairs hold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from dpforest.arrays import Values
from dpforest.forests import parameters as checks
from dpforest.forests.class_weights import WeighingLeaves
from dpforest.forests.declared import one_of, parameter
from dpforest.forests.greedy_phase import Phase
from dpforest.forests.parameters import Auto, check_choice, check_count
from dpforest.forests.tree_forest import LEAF_VOTING, LeafVoting, VotingForest
from dpforest.privacy.accounts.spends import exact
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.greedy_splits import Rule, ScoreName, Selection
from dpforest.tables.encode import Encoding
from dpforest.trees.attribute_grower import AttributeGrower
from dpforest.trees.ensembles import join_forests
from dpforest.trees.growers import MAX_LEAVES, most_trees, refuse_deep_trees
from dpforest.trees.level_budgets import LEVEL_BUDGETS, LevelBudget, share_out
from dpforest.trees.level_grower import BINS, LevelGrower
from dpforest.trees.rules import greedy_depth, greedy_trees, supported_leaves
from dpforest.trees.structure import Forest
from dpforest.trees.votes import leaf_votes

# What each further child of a split costs where nodes may stop, in sensitivities of the criterion:
# about what a split that tells nothing gains by chance. Rounded to 0 for "max", where a split that
# moves no majority ties with stopping.
COST_OF_CHILD = Fraction(1, 4)
FINEST_SHARE = 1 << 40  # the least chance of a record to be in a sample is one in this many


def _features(name: str, value: Any) -> None:
    """A whole number, "sqrt" or None."""
    if isinstance(value, str):
        check_choice(name, value, ("sqrt", None))
    elif value is not None:
        check_count(name, value)


class GreedyForestClassifier(WeighingLeaves, VotingForest):
    """Differentially private greedy forest.

    Each node chooses, by a private choice, the attribute that tells the classes apart best, or to
    stop; each leaf releases its label, or noisy class counts. The defaults are those of eDPRF, with
    its guarantee repaired, but for the criterion; `dpforest.literature` has the settings of the
    papers.
    Pure epsilon; two or more classes, mixed features, missing values.

    Parameters
    ----------
    epsilon, schema, n_hint, neighbors, max_records_per_group, random_state, n_jobs, verbose, budget
        As in `PrivateEstimator`.
    n_estimators : int or "auto", default="auto"
        Trees. ``"auto"`` follows `dpforest.trees.rules.greedy_trees`.
    max_depth : int or "auto", default="auto"
        Levels of splits. ``"auto"`` follows `dpforest.trees.rules.greedy_depth`.
    min_support : float, default=8.0
        A node of a multi-way tree that would hold fewer than this many records, divided by the
        epsilon of the tree, stays a leaf; records are taken to be spread evenly over the public
        ranges, so that this follows from released facts. Trees have room for at least 4 and at
        most about 1024 such nodes, and for the latter with 0.
    splits : {"multiway", "binary"}, default="multiway"
        One child for each bin of an attribute not yet used on the way, or two children, with
        attribute and cut chosen in one draw.
    criterion : {"max", "gini", "information_gain", "f_max"}, default="max"
        What a split is chosen by: the number of records in the largest class of each child, or
        impurities. `dpforest.privacy.mechanisms.scores` has their sensitivities, of which that of
        ``"max"`` is the least.
    n_bound : int, default=100_000
        A public number of records from which on information gain is blunted. The larger, the
        noisier its choices; privacy does not rest on it.
    selection : {"permute_and_flip", "exponential"}, default="permute_and_flip"
        The mechanism of the choice.
    max_features : int, "sqrt" or None, default=None
        Attributes that a node chooses from, drawn at random; all of them by default.
    level_budget : {"harmonic", "even", "linear", "hou", "cube_root"}, default="harmonic"
        How epsilon is spread over the levels; see `dpforest.trees.level_budgets.share_out`.
    align : bool, default=True
        Give each leaf all that its way has left (eDPRF's budget alignment). Otherwise leaves have
        what the longest way has left; with ``"hou"`` and ``"cube_root"``, what these schemes give
        to counts of the leaf's level, and what is left on the last level that is reached.
    stopping : {"candidate", "noisy_counts", None}, default="candidate"
        "Stop here" as one more candidate of the private choice; or stop where a noisy count of the
        node does not stand out of its noise, for the share that ``"hou"`` and ``"cube_root"`` have
        for counts above the last level (no paper prints this); or on public facts only.
    leaves : {"label", "counts"}, default="label"
        Release only the label (permute-and-flip) or noisy class counts (discrete Laplace).
    voting : {"averaging", "majority", "weighted"}, default="averaging"
        As in `RandomDecisionForestClassifier`.
    sampling : {"disjoint", "shared", "without_replacement"}, default="disjoint"
        Each record is dealt to one tree at random and each tree has all of epsilon; all trees see
        all records and share epsilon; or each tree sees a secret random sample, and shares it.
    sample_share : float, default=0.5
        The chance of a record to be in a tree's sample, for ``"without_replacement"``.
    second_phase : float, default=0.0
        The share of trees that are grown after the others, on samples in which a record comes
        half as often when those classify it well (TpDPRF). Needs ``"without_replacement"``.
    class_weight : dict, "balanced" or None, default=None
        As in `RandomDecisionForestClassifier`.
    max_bins : int, default=10
        Bins of a numeric feature without declared cuts.

    Attributes
    ----------
    leaf_values_ : ndarray of float64, shape (n_leaves, n_classes)
        What was released: 1 for the label, or noisy class counts.
    forest_, class_weights_
        As in `RandomDecisionForestClassifier`.
    classes_, ledger_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateEstimator`.

    Examples
    --------
    >>> from dpforest import GreedyForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = GreedyForestClassifier(epsilon=1.0, schema=census.schema, random_state=0)
    >>> forest.fit(census.X, census.y).score(census.X, census.y) > 0.7
    True
    >>> forest.ledger_.epsilon
    1.0
    """

    n_estimators: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    max_depth: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    min_support: float = parameter(default=8.0, check=checks.number(0.0, math.inf))
    splits: Literal["multiway", "binary"] = one_of("multiway", "binary", default="multiway")
    criterion: ScoreName = one_of("gini", "information_gain", "max", "f_max", default="max")
    n_bound: int = parameter(default=100_000, check=checks.count(low=2))
    selection: Selection = one_of("permute_and_flip", "exponential", default="permute_and_flip")
    max_features: int | Literal["sqrt"] | None = parameter(default=None, check=_features)
    level_budget: LevelBudget = one_of(*LEVEL_BUDGETS, default="harmonic")
    align: bool = one_of(True, False, default=True)
    stopping: Literal["candidate", "noisy_counts"] | None = one_of(
        "candidate", "noisy_counts", None, default="candidate"
    )
    leaves: Literal["label", "counts"] = one_of("label", "counts", default="label")
    voting: LeafVoting = one_of(*LEAF_VOTING, default="averaging")
    sampling: Literal["disjoint", "shared", "without_replacement"] = one_of(
        "disjoint", "shared", "without_replacement", default="disjoint"
    )
    sample_share: float = parameter(default=0.5, check=checks.number(0.0, 1.0))
    second_phase: float = parameter(default=0.0, check=checks.number(0.0, 1.0))
    max_bins: int = parameter(default=10, check=checks.count(low=2))

    _phase: ClassVar[type[Phase]] = Phase

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Grow the trees level by level and release their leaves."""
        self.encoding_ = Encoding.from_schema(self.schema_, max_bins=self.max_bins)
        desk.encode(self.encoding_)
        self._weigh_classes(desk, self._price_of_count())
        self._grow(desk, *self._plan(desk), rng)
        counts = self.leaf_values_ * self.class_weights_
        self._leaf_votes = leaf_votes(counts, self.voting, rng)

    def _grow(
        self,
        desk: Desk,
        n_trees: int,
        depth: int,
        max_leaf_nodes: int,
        rng: np.random.Generator,
    ) -> None:
        """Grow the trees, in one phase or in two, each with its part of what a count left."""
        share = round(n_trees * self.second_phase)
        later = min(max(share, 1), n_trees - 1) if self.second_phase else 0
        unspent = desk.ledger.unspent_epsilon
        forests: list[Forest] = []
        values: list[Values] = []
        for n in (n_trees - later, later) if later else (n_trees,):
            if forests:
                votes = leaf_votes(values[0], self.voting, rng)
                sampling = self._harder_samples(desk, n, forests[0], votes)
            else:
                sampling = self._first_samples(desk, n)
            phase = self._phase(
                desk=desk,
                n_classes=len(self.classes_),
                epsilon=unspent if math.isinf(unspent) else unspent * Fraction(n, n_trees),
                shares=share_out(self.level_budget, depth),
                sampling=sampling,
                rule=self._rule(),
                stop_on_counts=self.stopping == "noisy_counts",
                align=self.align,
                leaves=self.leaves,
            )
            forest, released = phase.grow(self._grower(n, max_leaf_nodes, rng))
            forests.append(forest)
            values.append(released)
        self.forest_, self.leaf_values_ = join_forests(forests), np.concatenate(values)

    def _first_samples(self, desk: Desk, n_trees: int) -> TreeSampling:
        """Let the trees see their records."""
        sampling = self._samples(n_trees)
        desk.draw_samples(sampling)
        return sampling

    def _harder_samples(
        self, desk: Desk, n_trees: int, forest: Forest, votes: Values
    ) -> TreeSampling:
        """Let later trees see more of the records that the first ones classify wrong."""
        sampling = self._samples(n_trees)
        desk.draw_harder_samples(sampling, forest, votes)
        return sampling

    def _samples(self, n_trees: int) -> TreeSampling:
        # The sampler draws one of so many; price and draw know the same share.
        share = Fraction(exact(self.sample_share)).limit_denominator(FINEST_SHARE)
        return TreeSampling(self.sampling, n_trees, max(share, Fraction(1, FINEST_SHARE)))

    def _rule(self) -> Rule:
        cost = COST_OF_CHILD if self.stopping == "candidate" else None
        return Rule.of(self.criterion, self.n_bound, self.selection, cost)

    def _grower(
        self, n_trees: int, max_leaf_nodes: int, rng: np.random.Generator
    ) -> AttributeGrower | LevelGrower:
        bins = self.encoding_.feature_bins
        n_candidates = math.isqrt(len(bins)) if self.max_features == "sqrt" else self.max_features
        shape = {"n_trees": n_trees, "n_candidates": n_candidates or len(bins)}
        if self.splits == "binary":
            all_alike = np.ones((len(bins), BINS), np.int64)
            return LevelGrower(bins, all_alike, **shape, categories="subset", rng=rng)
        return AttributeGrower(bins, **shape, max_leaf_nodes=max_leaf_nodes, rng=rng)

    def _plan(self, desk: Desk) -> tuple[int, int, int]:
        """Trees, depth and leaves of a tree; ``"auto"`` may pay for a noisy count."""
        n_records, epsilon = 1.0, self._epsilon_of_a_record
        n_trees, depth = self.n_estimators, self.max_depth
        several = self.splits == "multiway"
        if (several and self.min_support) or "auto" in (n_trees, depth):
            n_records = self._number_of_records(desk)
        if n_trees == "auto":
            room = MAX_LEAVES if several else most_trees(depth)
            n_trees = int(min(greedy_trees(n_records, epsilon), room))
        disjoint = self.sampling == "disjoint"
        seen = n_records / n_trees if disjoint else n_records
        if self.sampling == "without_replacement":
            seen *= self.sample_share
        own = epsilon if disjoint else epsilon / n_trees
        bins = self.encoding_.feature_bins
        # A node that is split has two or more children: twice the nodes, times their children.
        fits = MAX_LEAVES // (2 * n_trees * int(bins.n_bins.max()))
        max_leaf_nodes = min(supported_leaves(seen, own, self.min_support), max(fits, 1))
        if depth == "auto":
            fan_out = float(np.exp(np.log(bins.n_values).mean())) if several else 2.0
            depth = greedy_depth(max_leaf_nodes, fan_out)
        if several:  # an attribute is used once on a way
            depth = max(1, min(int(depth), int((bins.n_values > 1).sum())))
        return int(n_trees), int(depth), max_leaf_nodes

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        binary = self.splits == "binary"
        refuse_deep_trees(self.n_estimators, self.max_depth if binary else "auto")
        if self.stopping == "noisy_counts":
            check_choice("level_budget with noisy_counts", self.level_budget, ("hou", "cube_root"))
        if self.second_phase == 1 or (self.second_phase and self.n_estimators == 1):
            raise ValueError(
                "second_phase needs trees of a first phase: use a share below 1 and at least two "
                "trees, or second_phase=0"
            )
        if not self.sample_share:
            raise ValueError(
                "sample_share must be above 0: a tree that sees no record says nothing"
            )
        samples = self.sampling == "without_replacement"
        if self.second_phase and self._needs_samples() and not samples:
            raise ValueError(
                "second_phase draws samples by what the first phase says of a record: use "
                "sampling='without_replacement'"
            )
        self._rule()  # refuses a bound that its table would not hold

    def _needs_samples(self) -> bool:
        """Whether a second phase goes with samples only."""
        return True

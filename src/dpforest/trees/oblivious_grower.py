"""Random oblivious trees, round by round: which features are asked is learnt from releases."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import drawing_kernels
from dpforest.trees.category_effects import CategoryEffects
from dpforest.trees.cut_effects import CutEffects
from dpforest.trees.feature_pairs import MOST_FEATURES, FeaturePairs
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.ranges import draw_ends, ends_of
from dpforest.trees.structure import FeatureBins

CUT_FOCUS = 2.0  # the power of a cut's signal with which it is drawn
QUESTIONS = 16  # of a feature, among which one is chosen
KEPT = 8  # of the questions that were chosen, the last
PAIRS_IN_RANGES = 3.0  # trees ask pairs that act together, which do more than any two
UNTOLD = 0.05  # of what is shown without noise, what no curve tells
TINY = 1e-30  # where nothing is shown at all, nothing is divided by 0
FEW_CATEGORIES = 3  # one against the rest up to here; random halves beyond


class ObliviousGrower:
    """Draws oblivious trees; draws features more often whose answers move the gradients.

    Parameters
    ----------
    bins : FeatureBins
        The features.
    cut_weights : tuple of arrays or None
        How often a numeric feature is cut after each of its bins; None for categorical features.
    rng : numpy.random.Generator
        The public stream of the structure.
    learnt : float
        How far features are drawn by what they showed, rather than evenly.
    focus : float
        The power of a feature's signal with which it is drawn.
    memory : float
        What is left, a round later, of what was learnt: 1 keeps all of it. What a forest has
        fitted shows no more, so old signal misleads.
    learnt_cuts : float
        How far cuts are drawn by what they showed, rather than by the cut weights alone.
    together : bool
        Whether cuts are learnt by `CutEffects`, rather than by their squares alone, questions ask
        for ranges where these promise more (`draw_ends`), and features that showed that they act
        together are drawn together (`FeaturePairs`), of at most 500.
    monotone : ndarray of bool, shape (n_features,), optional
        Features that a model has to follow: they are never asked for a range, nor among what is
        chosen from, unless there are no others. What a model may not follow stays loud in choices.
    chosen_levels : int
        Levels that ask questions which were chosen, once there are some; one of the last 8, or of
        twice as many where there are more than 3 such levels.
    asking : float
        The share of the trees of a round that do; what is smooth needs the variety of the others.
    candidate_trees : int
        Trees among which one is chosen, with all its levels: trees that ask what was chosen ask all
        questions of one of the last 8. 0 where questions are chosen, one by one.

    Notes
    -----
    Everything it learns comes from released sums, so it is post-processing and free. The signal of
    a feature, or of a cut, is the squared contrast between the two sides of its levels, less the
    noise in it. Which categories go together is learnt by `CategoryEffects`.
    """

    def __init__(
        self,
        bins: FeatureBins,
        cut_weights: tuple[Values | None, ...],
        rng: np.random.Generator,
        *,
        learnt: float,
        focus: float,
        memory: float = 1.0,
        learnt_cuts: float = 0.0,
        together: bool = False,
        monotone: NDArray[np.bool_] | None = None,
        chosen_levels: int = 0,
        asking: float = 0.6,
        candidate_trees: int = 0,
    ) -> None:
        self._bins = bins
        self._rng = rng
        self._learnt = learnt
        self._focus = focus
        self._memory = memory
        self._learnt_cuts = learnt_cuts
        self._chosen_levels = chosen_levels
        self._asking = asking
        self._candidate_trees = candidate_trees
        kept = KEPT if chosen_levels <= 3 or candidate_trees else 2 * KEPT
        self._chosen: deque[ObliviousTrees] = deque(maxlen=kept)
        self._stacked: ObliviousTrees
        most = max(0 if weights is None else len(weights) for weights in cut_weights)
        self._cut_weights = np.zeros((len(bins), max(most, 1)))
        for shares, weights in zip(self._cut_weights, cut_weights, strict=True):
            if weights is not None and len(weights):
                shares[: len(weights)] = weights / weights.sum()
        self._shares_of_cuts = self._cut_weights
        n_cuts = [0 if weights is None else len(weights) for weights in cut_weights]
        self._last_cut = np.array(n_cuts) - 1
        self._cut_signal = np.zeros_like(self._cut_weights)
        self._times_cut = np.zeros_like(self._cut_weights)
        self._usable = bins.n_values > 1
        if not self._usable.any():
            self._usable = np.ones(len(bins), np.bool_)
        self._signal = np.zeros(len(bins))
        self._times_asked = np.zeros(len(bins))
        self._noise, self._depth = 1.0, 1
        self._effects = CategoryEffects(bins, rng)
        counts = np.array(n_cuts)
        self._cuts = CutEffects(counts) if together and counts.any() else None
        self._has_ranges = (counts > 1) & (True if monotone is None else ~monotone)
        free = self._usable & (True if monotone is None else ~monotone)
        self._chosen_from = free if free.any() else self._usable
        paired = together and len(bins) <= MOST_FEATURES
        self._pairs = FeaturePairs(counts) if paired else None

    def draw(self, n_trees: int, depth: int) -> ObliviousTrees:
        """Draw the trees of a round."""
        trees = self._ask(self._draw_features(n_trees, depth))
        if self._chosen:
            n_asking = round(self._asking * n_trees)
            which, level = self._draw_chosen(n_asking, depth)
            chosen = self._stacked
            n_levels = which.shape[1]
            trees.feature[:n_asking, :n_levels] = chosen.feature[which, level]
            trees.goes_right[:n_asking, :n_levels] = chosen.goes_right[which, level]
        return trees

    def _draw_chosen(
        self, n_trees: int, depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | int]:
        """Which of those chosen each level of some trees asks, shape (trees, levels); its level."""
        n_chosen = len(self._chosen)
        if self._candidate_trees:
            level = np.arange(min(self._chosen[0].feature.shape[1], depth))
            one = self._rng.integers(n_chosen, size=(n_trees, 1))
            return np.repeat(one, len(level), axis=1), level
        n_levels = min(self._chosen_levels, n_chosen, depth)
        return self._rng.random((n_trees, n_chosen)).argsort(axis=1)[:, :n_levels], 0

    def candidates(self) -> ObliviousTrees:
        """Draw questions of every feature, as trees of depth 1, or trees, for a choice of one."""
        if self._candidate_trees:
            levels = min(self._chosen_levels, int(self._usable.sum()))
            return self._ask(self._draw_features(self._candidate_trees, levels))
        return self._ask(np.repeat(np.flatnonzero(self._chosen_from), QUESTIONS)[:, None])

    def keep(self, chosen: ObliviousTrees) -> None:
        """Take a question that was chosen, or a tree: some of the trees ask one of the last."""
        self._chosen.append(chosen)
        self._stacked = ObliviousTrees.stack(list(self._chosen))

    def learn(self, trees: ObliviousTrees, together: Values, deviation: float) -> None:
        """Take note of what some trees released, as `dpforest.trees.deepening.contrasts`."""
        n_leaves = together.shape[1]
        # Right less left, level by level.
        contrast = -together[:, 1 << np.arange(trees.feature.shape[1])].swapaxes(0, 1)
        level_of = np.nonzero(self._bins.categorical[trees.feature])
        asked = trees.feature[level_of], trees.goes_right[level_of]
        self._effects.learn(*asked, contrast.swapaxes(0, 1)[level_of], n_leaves, deviation)
        self._noise, self._depth = deviation**2, trees.feature.shape[1]
        if self._cuts is not None and deviation == 0.0:
            self._noise = max(UNTOLD * float((contrast**2).mean()), TINY)
        net = (contrast**2).mean(axis=2) - self._noise
        for known in (self._signal, self._times_asked, self._cut_signal, self._times_cut):
            known *= self._memory
        np.add.at(self._signal, trees.feature.T, net)
        self._times_asked += np.bincount(trees.feature.ravel(), minlength=len(self._bins))
        # The cut lies before the first bin that goes right; where that is bin 0 there is none.
        level_cut = trees.feature.T, trees.goes_right.argmax(axis=2).T - 1
        cuts = (level_cut[1] >= 0) & ~self._bins.categorical[level_cut[0]]
        places = level_cut[0][cuts], level_cut[1][cuts]
        end = np.full(trees.feature.shape, -1)
        if self._cuts is None:
            np.add.at(self._cut_signal, places, net[cuts])
            np.add.at(self._times_cut, places, 1.0)
        else:
            end = ends_of(trees, self._bins)
            self._cuts.learn(*places, end.T[cuts], contrast[cuts], n_leaves, self._noise)
        if self._pairs is not None:
            asked_at = trees.feature, np.where(cuts, level_cut[1], -1).T, end
            self._pairs.learn(*asked_at, together, self._noise, self._cut_shares)
        self._shares_of_cuts = self._cut_shares()

    @property
    def signal(self) -> Values:
        """What each feature showed, on average, above the noise; never negative."""
        return np.asarray(np.maximum(self._signal / np.maximum(self._times_asked, 1.0), 0.0))

    @property
    def feature_shares(self) -> Values:
        """How often each feature is drawn: evenly, and by its signal plus what may still hide."""
        evenly = self._usable / self._usable.sum()
        promise = self._promise * self._usable
        by_promise = (promise / promise.max()) ** self._focus
        by_promise /= by_promise.sum()
        shares: Values = (1.0 - self._learnt) * evenly + self._learnt * by_promise
        return shares

    @property
    def _promise(self) -> Values:
        """The signal of each feature, and what may still hide."""
        if self._cuts is not None and self._times_asked.any():
            numeric = (self._cuts.promise * self._shares_of_cuts).sum(axis=1)
            others = self._cuts.believed(self._signal, self._times_asked, self._noise)
            return np.where(self._bins.categorical, others, numeric) + 1e-300
        hidden = self._noise * np.sqrt(0.5 / np.maximum(self._times_asked, 1.0))
        return np.asarray(self.signal + hidden + 1e-300)

    @property
    def _promise_of_cuts(self) -> Values:
        """The signal of each cut, and what may still hide, as far as there are any."""
        if self._cuts is not None:
            together = 0.0 if self._pairs is None else self._pairs.at_cuts(self._depth)
            return self._cuts.promise + together
        signal, times = _with_neighbours(self._cut_signal), _with_neighbours(self._times_cut)
        hidden = self._noise * np.sqrt(0.5 / np.maximum(times, 1.0))
        return np.asarray(np.maximum(signal / np.maximum(times, 1e-9), 0.0) + hidden)

    def _cut_shares(self) -> Values:
        """How often a numeric feature is to be cut at each place."""
        shares = self._cut_weights
        if self._learnt_cuts == 0.0:
            return shares
        promise = self._promise_of_cuts
        return np.asarray(drawing_kernels.share_cuts(shares, promise, self._learnt_cuts, CUT_FOCUS))

    def _ask(self, feature: NDArray[np.int64]) -> ObliviousTrees:
        """Draw a question for every level, about the feature that is given for it."""
        n_trees, depth = feature.shape
        n_values = self._bins.n_values[feature]
        uniform = self._rng.random((n_trees, depth))
        cut = drawing_kernels.find_cuts(self._shares_of_cuts, self._last_cut, feature, uniform)
        end = np.full(feature.shape, -1)
        if self._cuts is not None and self._times_asked.any():
            level = np.nonzero(self._has_ranges[feature])
            end[level] = self._draw_ends(feature[level], cut[level])
        goes_right = np.empty((n_trees, depth, 256), np.bool_)
        drawing_kernels.ask(cut, end, goes_right)
        level = np.nonzero(self._bins.categorical[feature])
        if len(level[0]):
            by_chance = self._split_categories(n_values[level])
            goes_right[level] = self._effects.part(feature[level], by_chance)
        # Missing, unseen and beyond: a coin, the same for all bins that are no values.
        drawing_kernels.toss(n_values, self._rng.random((n_trees, depth)) < 0.5, goes_right)
        return ObliviousTrees(
            feature.astype(np.int32), goes_right, np.full(n_trees, depth, np.int32)
        )

    def _draw_ends(self, feature: NDArray[np.int64], cut: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where questions that begin at a cut end; -1 where that is nowhere."""
        assert self._cuts is not None
        alone, between = self._cuts.promise, self._cuts.between(feature, cut)
        if self._pairs is not None:
            alone = alone + PAIRS_IN_RANGES * self._pairs.at_cuts(self._depth)
            between += PAIRS_IN_RANGES * self._pairs.between(self._depth, feature, cut)
        weights = self._cut_weights[feature, : between.shape[1]]
        return draw_ends(weights, alone[feature, cut], between, self._rng)

    def _draw_features(self, n_trees: int, depth: int) -> NDArray[np.int64]:
        """Different features for the levels of a tree, as long as there are enough."""
        any_asked, enough = bool(self._times_asked.any()), depth <= self._usable.sum()
        if self._pairs is not None and any_asked and enough:
            known = self._promise, self._usable, self._learnt, self._focus
            return self._pairs.draw(*known, (n_trees, depth), self._rng)
        shares = self.feature_shares if any_asked else self._usable / 1.0
        shares = shares / shares.sum()
        if not enough:
            return self._rng.choice(len(shares), (n_trees, depth), p=shares)
        with np.errstate(divide="ignore"):
            keys = np.log(shares) + self._rng.gumbel(size=(n_trees, len(shares)))
        return np.argsort(-keys, axis=1)[:, :depth]

    def _split_categories(self, n_values: NDArray[np.int64]) -> NDArray[np.bool_]:
        bin_ = np.arange(256)
        one = self._rng.integers(0, n_values)[:, None]
        halves = self._rng.random((len(n_values), 256)) < 0.5
        return np.where(n_values[:, None] <= FEW_CATEGORIES, bin_ == one, halves)


def _with_neighbours(values: Values) -> Values:
    """Each cut with half of the cut before and of the one after it: their signals are alike."""
    both = 2.0 * values
    both[:, 1:] += values[:, :-1]
    both[:, :-1] += values[:, 1:]
    return both

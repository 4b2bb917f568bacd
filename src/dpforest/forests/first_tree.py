"""One greedy tree, where noise is Laplace: of several classes the whole model, of two its start.

The noise of trees that are released one after another adds up, under Laplace noise in proportion to
their number, and random trees need many. The levels of one tree whose nodes choose their questions
are few, and a choice needs no noise that all its candidates would have to share. Nodes of a level
share no record, so a level costs what one choice costs. ``docs/privacy/greedy.md`` has the proofs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpforest.arrays import Values
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.starts import Start
from dpforest.forests.tree_plan import tree_depth
from dpforest.losses.logistic import clipped_score
from dpforest.losses.softmax import MANY_CLASSES
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.greedy_splits import Rule, choose_attributes
from dpforest.privacy.leaves import LeafQuestion, LeafRelease, leaf_counts
from dpforest.report.noise_runs import RUNS
from dpforest.trees.level_grower import BINS, LevelGrower
from dpforest.trees.paths import as_oblivious
from dpforest.trees.structure import FeatureBins

ROOTS, LEAST_DEPTH_OF_ROOTS = 2, 4  # levels that choose by impurity, in trees so deep
N_BOUND = 100_000  # of information gain, which is not asked for
DOUBT = 2.0  # deviations of the noise: so many records of all classes each leaf is given
LEAST_SHARE = 0.01, 0.1  # of a class in a leaf, or so much over the number of classes
ONE_TREE = TreeSampling("shared", 1)


def release_tree(
    desk: Desk,
    bins: FeatureBins,
    n_classes: int,
    n_records: float,
    price: Pure,
    rng: np.random.Generator,
) -> Start:
    """Release a tree, each level and the leaves for an equal part of the price.

    Parameters
    ----------
    desk : Desk
        With records that are binned.
    bins : FeatureBins
    n_classes : int
    n_records : float
        Public or noisy.
    price : Pure
    rng : numpy.random.Generator
        The public stream of the structure.

    Returns
    -------
    Start
        Of trees as `as_oblivious` has them.
    """
    depth = tree_depth(n_records * float(price.epsilon) / desk.steps)
    epsilon = Fraction(price.epsilon)
    each = epsilon / (depth + 1)
    all_alike = np.ones((len(bins), BINS), np.int64)
    shape = {"n_trees": 1, "n_candidates": len(bins)}
    grower = LevelGrower(bins, all_alike, **shape, categories="one_vs_rest", rng=rng)
    spent = Fraction(0)
    for level in range(depth):
        question = grower.ask()
        if question is None:
            break
        rule, span = _rule(level, depth, n_classes), Span(spent, spent + each)
        grower.answer(*choose_attributes(desk, question, n_classes, rule, span, ONE_TREE))
        spent += each
    forest, rest = grower.finish(), [Span(spent, epsilon)]
    alike = np.zeros(forest.n_leaves, np.int64)
    found = leaf_counts(desk, LeafQuestion(forest, n_classes, alike, rest, rest, ONE_TREE))
    trees = BoostedTrees(*as_oblivious(forest, leaf_scores(leaf_shares(found))))
    return Start(trees, by_chance=scores_by_chance(found))


def _rule(level: int, depth: int, n_classes: int) -> Rule:
    """Impurity tells before any majority moves; of many classes its sharper rival tells more."""
    impurity = level < ROOTS and depth >= LEAST_DEPTH_OF_ROOTS and n_classes < MANY_CLASSES
    return Rule.of("gini" if impurity else "max", N_BOUND, "permute_and_flip", None)


def leaf_shares(found: LeafRelease) -> Values:
    """The shares of the classes in each leaf, by their noisy counts.

    Each leaf leans on the shares in all of them, with the weight of its noise.

    Examples
    --------
    >>> noisy = LeafRelease(np.array([[90.0, 10.0], [-5.0, 105.0]]), np.zeros(2))
    >>> leaf_shares(noisy).round(2).tolist()
    [[0.9, 0.1], [0.01, 0.99]]
    """
    counts = np.maximum(found.values, 0.0)
    lent = DOUBT * found.deviations[:, None] + 1e-9
    overall = counts.sum(axis=0) + 1e-9
    shares = counts + lent * overall / overall.sum()
    least = min(LEAST_SHARE[0], LEAST_SHARE[1] / shares.shape[1])
    shares = np.maximum(shares / shares.sum(axis=1, keepdims=True), least)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def leaf_scores(shares: Values) -> Values:
    """The scores of leaves with these shares of the classes, shape (n_leaves, n_outputs)."""
    if shares.shape[1] == 2:
        return np.array([[clipped_score(float(share))] for share in shares[:, 1]])
    logarithms = np.log(shares)
    return np.asarray(logarithms - logarithms.mean(axis=1, keepdims=True))


def scores_by_chance(found: LeafRelease) -> Values:
    """By how much chance and noise may have moved the scores of leaves, shape (n_leaves, RUNS).

    Chance deals out the records of a leaf, and noise is what it was; each by a coin of its
    deviation, which is all that spreads of scores need. Every run is of one class.
    """
    rng, shares = np.random.default_rng(0), leaf_shares(found)
    expected = np.maximum(found.values.sum(axis=1), 0.0)[:, None] * shares
    dealt, told = np.sqrt(expected * (1.0 - shares)), leaf_scores(shares)
    runs = []
    for run in range(RUNS):
        coins = 2.0 * rng.integers(0, 2, (2, *expected.shape)) - 1.0
        counts = expected + coins[0] * dealt + coins[1] * found.deviations[:, None]
        moved = leaf_scores(leaf_shares(LeafRelease(counts, found.deviations))) - told
        runs.append(moved[:, run % moved.shape[1]])
    return np.stack(runs, axis=1)

"""Broken mechanisms that the auditor must catch: each with one flaw, found in print or in code.

They are small, use the library's exact noise and choices, and differ from what is right in one
thing only, so that what the auditor sees is that thing.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.controls_diprime import diprime_controls
from dpforest.audit.controls_schema import bounds_from_data, classes_from_data
from dpforest.audit.games import Game
from dpforest.audit.mechanisms import Mechanism, noisy, table
from dpforest.audit.worlds import Pair, Table
from dpforest.privacy.mechanisms import noise, selection
from dpforest.privacy.mechanisms.randomness import RandomBits

MEAN_GRID = 4096  # steps in a unit of a released mean

ONE_MORE = Pair("one more record", table([0.0] * 3, [0] * 3), table([0.0] * 4, [0] * 4))


def controls() -> dict[str, Game]:
    """Every control by its name."""
    found: list[Game] = [
        half_noise(),
        budget_twice(),
        bootstrap(),
        purity_stopping(),
        *diprime_controls(),
        bounds_from_data(),
        classes_from_data(),
        leaf_mean_by_count(),
    ]
    return {control.name: control for control in found}


def half_noise(epsilon: float = 1.0) -> Mechanism:
    """A count whose noise has half of its scale."""
    return Mechanism(
        "half-noise",
        epsilon,
        [ONE_MORE],
        lambda t, trials, bits: noisy(len(t.y), 2.0 * epsilon, trials, bits),
        "the noise has half of the scale that the claim needs",
    )


def budget_twice(epsilon: float = 1.0) -> Mechanism:
    """Two trees on the same records, each with the whole epsilon."""

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        return noisy([len(t.y)] * 2, epsilon, trials, bits)

    flaw = "two trees see the same records, and each spends all of epsilon"
    return Mechanism("budget-twice", epsilon, [ONE_MORE], sample, flaw)


def bootstrap(epsilon: float = 1.0) -> Mechanism:
    """The count of a leaf, over a bootstrap sample, with noise for a sensitivity of 1."""
    n_others = 30

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        n = len(t.y)
        drawn = bits.uniform_below(n, trials * n).reshape(trials, n)
        counts = (t.X[drawn, 0] == 1.0).sum(axis=1)
        return np.asarray(counts[:, None] + noisy(0, epsilon, trials, bits))

    others = [0.0] * n_others
    pair = Pair(
        "alone in its leaf",
        table(others, [0] * n_others),
        table([*others, 1.0], [0] * n_others + [1]),
    )
    flaw = "a record can be drawn several times into one tree: the sensitivity is its multiplicity"
    return Mechanism("bootstrap", epsilon, [pair], sample, flaw)


def purity_stopping(epsilon: float = 1.0) -> Mechanism:
    """A tree that stops on pure nodes (eDPRF, and the thesis, as printed).

    Half of epsilon chooses the attribute by permute-and-flip on the count-weighted Gini impurity,
    unless the root is pure; what is left of epsilon, which is all of it in a pure root, labels
    the leaves. Adding a record of another class makes a pure root split.
    """

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        pure = len(np.unique(t.y)) == 1
        if pure:
            label = _labels(t.y, np.full((trials, len(t.y)), True), epsilon, bits)
            absent = np.full((trials, 2), np.nan)
            return np.column_stack([absent, label])
        impurities = [-_gini(t.y, t.X[:, j] > 0.5) for j in range(t.X.shape[1])]
        attribute = selection.permute_and_flip(
            np.tile(impurities, (trials, 1)),
            epsilon=epsilon / 2, sensitivity=2 * SCORE_GRID, monotone=True, bits=bits,
        )  # fmt: skip
        right = t.X[:, attribute].T > 0.5
        sides = [_labels(t.y, side, epsilon / 2, bits) for side in (~right, right)]
        return np.column_stack([attribute, *sides]).astype(np.float64)

    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    pair = Pair(
        "first of its class",
        table(X, [0] * 4),
        table(np.vstack([X, [1, 1]]), [0] * 4 + [1]),
    )
    flaw = "it stops when a node is pure, which reads the data and pays nothing"
    return Mechanism("purity-stopping", epsilon, [pair], sample, flaw)


SCORE_GRID = 1 << 16  # steps in a unit of an impurity


def _gini(y: NDArray[np.int64], right: NDArray[np.bool_]) -> int:
    """The count-weighted Gini impurity after a split, on a grid."""
    total = Fraction(0)
    for side in (right, ~right):
        counts = np.bincount(y[side], minlength=2)
        n = int(counts.sum())
        if n:
            total += n - Fraction(int((counts**2).sum()), n)
    return int(total * SCORE_GRID)


def _labels(
    y: NDArray[np.int64], inside: NDArray[np.bool_], epsilon: float, bits: RandomBits
) -> NDArray[np.int64]:
    """The label of a leaf by permute-and-flip, for every trial's own set of records."""
    counts = np.column_stack([(inside & (y == label)).sum(axis=1) for label in (0, 1)])
    return selection.permute_and_flip(
        counts, epsilon=epsilon, sensitivity=1, monotone=True, bits=bits
    )


def leaf_mean_by_count(epsilon: float = 1.0, name: str = "leaf-mean-by-count") -> Mechanism:
    """The mean of a leaf, of a target from 0 to 1, with noise for its own number of records."""

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        mean = Fraction(float(t.y.sum())) / len(t.y)
        scale, _ = noise.laplace_scale(epsilon, Fraction(MEAN_GRID, len(t.y)))
        draws = noise.discrete_laplace(scale, (trials, 1), bits)
        return (int(mean * MEAN_GRID) + draws) / MEAN_GRID

    pair = Pair("second record of its leaf", table([0.0], [0.0]), table([0.0] * 2, [0.0] * 2))
    flaw = "noise of scale R / (N epsilon) tells the true number of records N"
    return Mechanism(name, epsilon, [pair], sample, flaw)

"""Synthetic data from a tree of noisy marginals, and a gradient-boosted model on top: a rival.

It is MST (McKenna, Miklau and Sheldon, 2021), written here in short: a third of the budget for the
histogram of every column, a third for a spanning tree of pairs that are far from independent, a
third for the chosen pairs; records are drawn along the tree, from the target. In its favour there
is a second form: every pair is measured together with the target, in coarse or finer bins. Delta
is 1e-6, neighbours differ by one record, the number of records is public.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from benchmarks.accuracy.methods import plain
from benchmarks.accuracy.methods.columns_in_bins import Column
from benchmarks.accuracy.methods.worker import serve
from benchmarks.accuracy.splits import Split

DELTA = 1e-6
MAX_ROWS = 30_000
# bins of a number
BINS = {"synthetic_mst": 16, "synthetic_mst_target5": 5, "synthetic_mst_target10": 10}
Edge = tuple[int, int]  # parent, child


def predict(split: Split, method: str, epsilon: float, seed: int) -> np.ndarray:
    split = split.filled().first(MAX_ROWS)
    rng = np.random.default_rng(seed)
    X, y = synthesize(split, method, zero_concentrated(epsilon), rng)
    if split.n_classes:
        # scikit-learn refuses a class of a single record
        kept = np.bincount(y)[y] > 1
        X, y = X[kept], y[kept]
        if len(np.unique(y)) == 1:
            return np.full(len(split.y_test), y[0])
    made = replace(split, X_train=X, y_train=y)
    return plain.predict(made, "hist_gradient_boosting", epsilon, seed)


def synthesize(
    split: Split, method: str, rho: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return as many synthetic records as there are, and their targets; the target is column 0."""
    values = np.column_stack([split.y_train, split.X_train])
    sizes = np.array([split.n_classes, *split.n_categories])
    lows, highs = np.array([0, *split.low]), np.array([1, *split.high])
    deviation = np.sqrt(len(sizes) / (2 * rho / 3))
    columns = [
        Column.measured(*column, BINS[method], deviation, rng)
        for column in zip(values.T, sizes, lows, highs, strict=True)
    ]
    codes = [column.encode(v) for column, v in zip(columns, values.T, strict=True)]
    edges = spanning_tree(codes, columns, rho / 3, rng)
    drawn = draw(codes, columns, edges, method != "synthetic_mst", deviation, rng)
    made = [column.decode(c, rng) for column, c in zip(columns, drawn, strict=True)]
    y = made[0].astype(np.int64) if split.n_classes else made[0]
    return np.column_stack(made[1:]), y


def spanning_tree(
    codes: list[np.ndarray], columns: list[Column], rho: float, rng: np.random.Generator
) -> list[Edge]:
    """Choose edges by the exponential mechanism, far from independent first; from the target."""
    d = len(codes)
    shares = [column.shares for column in columns]
    pairs = np.array([(a, b) for a in range(d) for b in range(a + 1, d)])
    distances = np.array(
        [
            np.abs(
                counts([codes[a], codes[b]], [shares[a], shares[b]])
                - len(codes[0]) * np.outer(shares[a], shares[b])
            ).sum()
            for a, b in pairs
        ]
    )
    rate = np.sqrt(8 * rho / (d - 1))
    component = np.arange(d)
    chosen = []
    for _ in range(d - 1):
        scores = rate / 2 * distances + rng.gumbel(size=len(pairs))
        scores[component[pairs[:, 0]] == component[pairs[:, 1]]] = -np.inf
        a, b = pairs[scores.argmax()]
        chosen.append((int(a), int(b)))
        component[component == component[b]] = component[a]
    return from_root(chosen)


def from_root(edges: list[Edge]) -> list[Edge]:
    """Return the edges as (parent, child), parents first, from column 0."""
    ordered, reached, left = [], {0}, list(edges)
    while left:
        a, b = next(edge for edge in left if (edge[0] in reached) != (edge[1] in reached))
        left.remove((a, b))
        ordered.append((a, b) if a in reached else (b, a))
        reached |= {a, b}
    return ordered


def counts(codes: list[np.ndarray], shares: list[np.ndarray]) -> np.ndarray:
    """Return the marginal of some columns."""
    shape = tuple(len(s) for s in shares)
    return np.bincount(np.ravel_multi_index(codes, shape), minlength=np.prod(shape)).reshape(shape)


def draw(
    codes: list[np.ndarray],
    columns: list[Column],
    edges: list[Edge],
    with_target: bool,
    deviation: float,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Measure the marginal of every edge and draw the columns, children after their parents."""
    n = len(codes[0])
    drawn = [np.empty(0, dtype=int)] * len(codes)
    drawn[0] = rng.choice(len(columns[0].shares), size=n, p=columns[0].shares)
    for parent, child in edges:
        given = [0, parent] if with_target and parent else [parent]
        marginal = counts(
            [codes[j] for j in (*given, child)], [columns[j].shares for j in (*given, child)]
        )
        noisy = nearest(marginal + rng.normal(0, deviation, marginal.shape), n)
        # a pair never seen falls back on the target alone, and that on the column's histogram
        coarse = conditional(noisy.sum(axis=tuple(range(1, len(given)))), columns[child].shares)
        table = conditional(noisy, coarse[:, None] if len(given) > 1 else coarse)
        rows = table[tuple(drawn[j] for j in given)].cumsum(axis=1)
        drawn[child] = (rng.random((n, 1)) * rows[:, -1:] > rows).sum(axis=1)
    return drawn


def conditional(marginal: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return the shares of the last axis given the others; where there is nothing, `otherwise`."""
    sums = marginal.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, marginal / np.maximum(sums, 1e-12), otherwise)


def nearest(noisy: np.ndarray, total: float) -> np.ndarray:
    """Return the table of counts not below 0, of this total, that is nearest to the noisy one."""
    lowest = noisy.min() - total / noisy.size
    cut = brentq(lambda c: np.maximum(noisy - c, 0).sum() - total, lowest, noisy.max())
    return np.maximum(noisy - cut, 0)


def zero_concentrated(epsilon: float, delta: float = DELTA) -> float:
    """Return the largest rho of zero-concentrated privacy that keeps (epsilon, delta)."""

    def lost(rho: float) -> float:
        def bound(log_order: float) -> float:
            order = 1 + np.exp(log_order)
            return (
                rho * order
                + (np.log(1 / delta) - np.log(order)) / (order - 1)
                + np.log1p(-1 / order)
            )

        return minimize_scalar(bound, bounds=(-6, 12), method="bounded").fun - epsilon

    return brentq(lost, 1e-9, 1e3)


if __name__ == "__main__":
    serve(predict)

"""Bars of the matrix forests that are no accuracy or time: ``python -m benchmarks.matrix``.

Expected error against Kronecker p-Identity with p = 1, the authors' choice, on all settings of
their published runs; accuracy by the number of queries (Figure 3b); and accuracy of the automatic
shape against a grid of depths.
"""

import itertools

import numpy as np
from rich.console import Console
from rich.table import Table

from dpforest import MatrixForestClassifier, MatrixForestPredictor
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.mechanisms.strategies import choose_strategy, expected_error
from dpforest.privacy.mechanisms.strategies.optimise import best_kronecker
from dpforest.reproduce.data import load, split

PRICE = Pure(1)
CAR_SHAPES = itertools.product((2, 3, 4, 5), (1, 4, 8, 16, 32, 64, 128))
IRIS_SHAPES = itertools.product((2, 3, 4), (1, 4, 8, 16, 32, 64))
SETTINGS = [
    *(("car@mrf", depth, trees, 1, "auto") for depth, trees in CAR_SHAPES),
    *(("iris@mrf", depth, trees, 1, "auto") for depth, trees in IRIS_SHAPES),
    ("balance_scale@mrf", 2, 128, 1, "auto"),
    ("balance_scale@mrf", 2, 16, 1, "auto"),
    ("heart@mrf", 2, 102, 3, 4),
    ("mushroom@mrf", 3, 125, 5, 4),
    ("mushroom@mrf", 3, 125, 5, 3),
    ("adult@mrf", 6, 16, 1, "auto"),
]
QUERIES = (5, 10, 50, 100, 500, 1000)
AUTO_ON = ("car", "iris", "balance_scale", "heart", "mushroom", "adult", "nursery", "tic_tac_toe",
           "voting")  # fmt: skip
DEPTHS = (1, 2, 3, 4)


def errors() -> Table:
    """The chosen strategy's expected error over that of the authors' choice, for both workloads."""
    table = Table("data", "depth", "trees", "training", "prediction", "met")
    for dataset, depth, trees, ensembles, features in SETTINGS:
        parts = split(dataset, None, 0.2, 0)
        shape = {
            "n_estimators": trees, "max_depth": depth, "n_ensembles": ensembles,
            "features_per_ensemble": features, "schema": parts.train.schema, "random_state": 0,
        }  # fmt: skip
        some = parts.train.X[:50], parts.train.y[:50]
        training = MatrixForestClassifier(epsilon=1.0, strategy="laplace", **shape).fit(*some)
        prediction = MatrixForestPredictor(epsilon=1.0, **shape).fit(*some)
        queries = parts.test.X[:346]
        ratios = [
            sum(choose_strategy(w, PRICE).expected_error for w in workloads)
            / sum(expected_error(w, best_kronecker(w, 1), PRICE) for w in workloads)
            for workloads in (training.workloads(), prediction.workloads(queries))
        ]
        met = all(r <= 1 + 1e-9 for r in ratios)
        texts = [f"{r:.4f}" for r in ratios]
        table.add_row(dataset, str(depth), str(trees), *texts, "yes" if met else "NO")
    return table


def queries(seeds: int = 10) -> Table:
    """Figure 3b: car, epsilon 2, depth 4, 16 trees; trained on all records, queries among them."""
    table = Table("queries", "batch prediction", "per-query Laplace, subsample")
    records = load("car@mrf", None)
    for n in QUERIES:
        shown = []
        for settings in ({}, {"mode": "subsample", "strategy": "laplace"}):
            scores = []
            for seed in range(seeds):
                rows = np.random.default_rng(seed).permutation(len(records.y))[:n]
                model = MatrixForestPredictor(
                    epsilon=2.0, n_estimators=16, max_depth=4, schema=records.schema,
                    random_state=seed, **settings,
                ).fit(records.X, records.y)  # fmt: skip
                scores.append((model.predict(records.X[rows]) == records.y[rows]).mean())
            shown.append(f"{np.mean(scores):.3f} ± {np.std(scores) / np.sqrt(seeds):.3f}")
        table.add_row(str(n), *shown)
    return table


def auto(seeds: int = 3) -> Table:
    """The automatic shape, and 64 trees of each depth over all features (or what fits)."""
    table = Table("data", "epsilon", "estimator", "auto", "shape", *(f"depth {h}" for h in DEPTHS))
    for dataset, epsilon in itertools.product(AUTO_ON, (0.1, 1.0)):
        for make in (MatrixForestClassifier, MatrixForestPredictor):
            hint = {} if make is MatrixForestClassifier else {"n_hint": len(_part(dataset).train.y)}
            found = [_scores(make, dataset, seeds, epsilon=epsilon, **hint)]
            for depth in DEPTHS:
                shape = {"max_depth": depth, "n_estimators": 64}
                found.append(_scores(make, dataset, seeds, epsilon=epsilon, **shape))
            (_, plan), *_ = found
            shape = f"{plan.n_ensembles} x {plan.n_features}, depth {plan.max_depth}"
            first, *others = (f"{score:.3f}" for score, _ in found)
            table.add_row(dataset, f"{epsilon:g}", make.__name__[12:], first, shape, *others)
    return table


def _scores(make, dataset: str, seeds: int, **settings):
    scores = []
    for seed in range(seeds):
        parts = _part(dataset, seed)
        model = make(schema=parts.train.schema, random_state=seed, **settings)
        model.fit(parts.train.X, parts.train.y)
        scores.append((model.predict(parts.test.X) == parts.test.y).mean())
    return np.mean(scores), model.plan_


def _part(dataset: str, seed: int = 0):
    return split(dataset, None, 0.2, seed)


if __name__ == "__main__":
    console = Console(width=120)
    console.print("Expected error, chosen over Kronecker p-Identity with p = 1", errors())
    console.print("Figure 3b: accuracy by the number of queries", queries())
    console.print("The automatic shape against a grid of depths, accuracy", auto())

"""The flagship against LightGBM (not private) and DP-EBM, each with two threads."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lightgbm
import numpy as np

from benchmarks.accuracy.environments import python_with
from benchmarks.accuracy.methods import GROUPS
from benchmarks.speed.measuring import Row, limit_row, ratio_row, seconds
from benchmarks.speed.random_forest import make_table
from dpforest import PrivateForestClassifier, PrivateForestRegressor, Schema, Target

N, D, TREES, DEPTH = 1_000_000, 20, 200, 4

EBM = """
import sys, time, warnings, numpy as np
from interpret.privacy import DPExplainableBoostingClassifier
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
warnings.simplefilter("ignore")
model = DPExplainableBoostingClassifier(
    privacy_bounds={j: (0.0, 1.0) for j in range(X.shape[1])}, epsilon=1.0, delta=1e-6, n_jobs=2
)
start = time.perf_counter(); model.fit(X, y); print(time.perf_counter() - start)
"""


def measure() -> Iterator[Row]:
    X, y, schema = make_table(N, D)
    ours = PrivateForestClassifier(schema=schema, n_estimators=TREES, max_depth=DEPTH, n_jobs=2)
    ours.fit(X[:1500], y[:1500]).predict(X[:1500])
    peer = lightgbm.LGBMClassifier(n_estimators=TREES, num_leaves=2**DEPTH, n_jobs=2, verbose=-1)
    label = f"{N:,} x {D}, {TREES} trees of {2**DEPTH} leaves"
    fit = seconds(lambda: ours.fit(X, y))
    yield ratio_row(f"fit {label}, LightGBM", fit, seconds(lambda: peer.fit(X, y), 1), 1 / 10)
    predict = seconds(lambda: ours.predict(X)), seconds(lambda: peer.predict(X), 1)
    yield ratio_row(f"predict {label}, LightGBM", *predict, 1 / 10)
    yield ratio_row(f"fit {label}, DP-EBM", fit, ebm_seconds(X, y), 1 / 10)
    tenth = seconds(lambda: ours.fit(X[: N // 10], y[: N // 10]), 5)
    yield limit_row(f"fit {N:,} against {N // 10:,} records", fit / tenth, 11, "times")
    small = PrivateForestClassifier(schema=schema)
    small.fit(X[:1500], y[:1500])
    few = seconds(lambda: small.fit(X[:1500], y[:1500]), 10)
    yield limit_row("fit 1,500 records, defaults, warm", few, 0.2, "s")
    yield from measure_defaults(X, y, schema)


def measure_defaults(X: np.ndarray, y: np.ndarray, schema: Schema) -> Iterator[Row]:
    """All settings left alone, classes and numbers, against the same peer as above."""
    amount = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * y
    numbers = Schema(schema.features, Target(low=0, high=2.5))
    shape = {"n_estimators": TREES, "num_leaves": 2**DEPTH, "n_jobs": 2, "verbose": -1}
    pairs = {
        "classes": (PrivateForestClassifier(schema=schema), lightgbm.LGBMClassifier(**shape), y),
        "numbers": (
            PrivateForestRegressor(schema=numbers),
            lightgbm.LGBMRegressor(**shape),
            amount,
        ),
    }
    for kind, (ours, peer, target) in pairs.items():
        ours.fit(X[:1500], target[:1500]).predict(X[:1500])
        for n, most in ((N, 0.28), (N // 10, 0.5)):
            rows, of_rows = X[:n], target[:n]
            fit = [seconds(lambda m=m, r=rows, t=of_rows: m.fit(r, t)) for m in (ours, peer)]
            yield ratio_row(f"fit {n:,} x {D}, defaults, {kind}, LightGBM", *fit, most)
        predict = [seconds(lambda m=m: m.predict(X)) for m in (ours, peer)]
        yield ratio_row(f"predict {N:,} x {D}, defaults, {kind}, LightGBM", *predict, 0.13)


def ebm_seconds(X: np.ndarray, y: np.ndarray) -> float:
    """The time DP-EBM takes to fit the table, in its own environment."""
    group = next(group for group in GROUPS if group.name == "ebm")
    python = python_with(group.name, group.requirements)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("X.npy", "y.npy")]
        np.save(paths[0], X)
        np.save(paths[1], y)
        done = subprocess.run(
            [python, "-c", EBM, *paths], check=True, capture_output=True, text=True
        )
    return float(done.stdout.splitlines()[-1])

"""The random decision forest against scikit-learn's ExtraTrees at the same shape."""

from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.speed.measuring import (
    Row,
    in_fresh_process,
    limit_row,
    ratio_row,
    seconds,
)
from dpforest import NumericFeature, RandomDecisionForestClassifier, Schema, Target, datasets
from dpforest.privacy.mechanisms import noise

N, D, TREES, DEPTH, BINS = 1_000_000, 20, 100, 8, 32

IMPORT = """
import time; start = time.perf_counter(); import dpforest; print(time.perf_counter() - start)
"""
FIRST_CALL = """
import time; start = time.perf_counter()
from dpforest import RandomDecisionForestClassifier, datasets
c = datasets.make_census(1000, random_state=0)
RandomDecisionForestClassifier(schema=c.schema).fit(c.X, c.y).predict(c.X)
print(time.perf_counter() - start)
"""
# The most resident memory of the fit, beyond what was resident when it began.
PEAK_MEMORY = f"""
from pathlib import Path
from benchmarks.speed.random_forest import make_table
from dpforest import RandomDecisionForestClassifier
def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))
X, y, schema = make_table({N}, {D})
forest = RandomDecisionForestClassifier(
    schema=schema, max_bins={BINS}, n_jobs=2, n_estimators={TREES}, max_depth={DEPTH}
)
forest.fit(X[:1000], y[:1000])
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = status("VmRSS"); forest.fit(X, y); print((status("VmHWM") - before) / {N * D})
"""


def make_table(n: int, d: int) -> tuple[np.ndarray, np.ndarray, Schema]:
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.random(n) > 0.9).astype(np.int64)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(d))
    return X, y, Schema(features, Target(classes=(0, 1)))


def measure() -> Iterator[Row]:
    X, y, schema = make_table(N, D)
    shape = {"n_estimators": TREES, "max_depth": DEPTH}
    ours = RandomDecisionForestClassifier(schema=schema, max_bins=BINS, n_jobs=2, **shape)
    theirs = ExtraTreesClassifier(n_jobs=2, **shape)
    ours.fit(X[:1000], y[:1000]).predict(X[:1000])
    label = f"{N:,} x {D}, {TREES} trees, depth {DEPTH}"
    fit = seconds(lambda: ours.fit(X, y)), seconds(lambda: theirs.fit(X, y), 1)
    yield ratio_row(f"fit {label}", *fit, 1 / 15)
    predict = seconds(lambda: ours.predict(X)), seconds(lambda: theirs.predict(X), 1)
    yield ratio_row(f"predict {label}", *predict, 1 / 3)
    memory = in_fresh_process(PEAK_MEMORY)
    yield limit_row(f"peak memory of that fit, bytes x {N:,} x {D}", memory, 4, "bytes")
    yield noise_row()
    census = datasets.make_census(1000, random_state=0)
    small = RandomDecisionForestClassifier(schema=census.schema, n_estimators=10, max_depth=8)
    small.fit(census.X, census.y)
    time = seconds(lambda: small.fit(census.X, census.y), 20)
    yield limit_row("fit 1,000 records, 10 trees, warm", 1e3 * time, 20, "ms")
    yield limit_row("import dpforest", in_fresh_process(IMPORT), 1.5, "s")
    first = in_fresh_process(FIRST_CALL, empty_cache=True)
    yield limit_row("first call after install", first, 10, "s")


def noise_row() -> Row:
    """What part of a fit at 100,000 records is spent drawing noise."""
    X, y, schema = make_table(100_000, D)
    forest = RandomDecisionForestClassifier(
        schema=schema, n_estimators=TREES, max_depth=DEPTH, max_bins=BINS, n_jobs=2
    )
    whole = seconds(lambda: forest.fit(X, y), 5)
    spent, draw = [0.0], noise.discrete_laplace

    def clocked(*args: object) -> object:
        drawn = []
        spent[0] += seconds(lambda: drawn.append(draw(*args)), 1)
        return drawn[0]

    noise.discrete_laplace = clocked
    try:
        forest.fit(X, y)
    finally:
        noise.discrete_laplace = draw
    share = spent[0] / whole
    return Row(
        "noise in a fit of 100,000 records", f"{share:.1%} of {whole:.3g} s", "20%", share <= 0.2
    )

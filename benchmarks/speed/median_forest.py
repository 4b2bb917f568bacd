"""The median forest against scikit-learn's ExtraTrees at the same shape."""

from collections.abc import Iterator

from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.speed.measuring import Row, ratio_row, seconds
from benchmarks.speed.random_forest import make_table
from dpforest import MedianForestClassifier

N, D = 1_000_000, 20
SHAPE = {"n_estimators": 10, "max_depth": 10}


def measure() -> Iterator[Row]:
    X, y, schema = make_table(N, D)
    ours = MedianForestClassifier(schema=schema, n_jobs=2, **SHAPE)
    theirs = ExtraTreesClassifier(n_jobs=2, **SHAPE)
    ours.fit(X[:1000], y[:1000])
    fit = seconds(lambda: ours.fit(X, y), 1), seconds(lambda: theirs.fit(X, y), 1)
    yield ratio_row(f"fit {N:,} x {D}, 10 trees, depth 10", *fit, 1)

"""The greedy forest against scikit-learn's ExtraTrees at the same shape."""

from collections.abc import Iterator

from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.speed.measuring import Row, ratio_row, seconds
from benchmarks.speed.random_forest import make_table
from dpforest import GreedyForestClassifier

N, D = 1_000_000, 20
SHAPE = {"n_estimators": 35, "max_depth": 6}


def measure() -> Iterator[Row]:
    X, y, schema = make_table(N, D)
    theirs = ExtraTreesClassifier(n_jobs=2, **SHAPE)
    their_fit = seconds(lambda: theirs.fit(X, y), 1)
    for settings in ({"splits": "multiway"}, {"splits": "binary"}, {"min_support": 0}):
        ours = GreedyForestClassifier(schema=schema, n_jobs=2, **SHAPE, **settings)
        ours.fit(X[:1000], y[:1000])
        our_fit = seconds(lambda model=ours: model.fit(X, y), 1)
        what = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        yield ratio_row(f"fit {N:,} x {D}, 35 trees, depth 6, {what}", our_fit, their_fit, 1)

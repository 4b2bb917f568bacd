"""The matrix forest at the paper's settings; the authors report 340 s (car) and 298 s (adult)."""

from collections.abc import Iterator

from benchmarks.speed.measuring import Row, limit_row, seconds
from dpforest import MatrixForestClassifier, MatrixForestPredictor
from dpforest.reproduce.data import split

CAR = {"n_estimators": 128, "max_depth": 4, "n_ensembles": 1, "epsilon": 2.0}
ADULT = {
    "n_estimators": 100,
    "max_depth": 8,
    "n_ensembles": 4,
    "features_per_ensemble": 10,
    "epsilon": 1.0,
}


def measure() -> Iterator[Row]:
    for name, dataset, settings, most in (
        ("car, 128 trees of depth 4, 346 queries", "car@mrf", CAR, 3.0),
        ("adult (binary), 100 trees of depth 8, 4 ensembles", "adult_binary", ADULT, 30.0),
    ):
        parts = split(dataset, None, 0.2, 0)
        for kind in (MatrixForestClassifier, MatrixForestPredictor):

            def work(kind=kind, settings=settings, parts=parts):
                model = kind(schema=parts.train.schema, random_state=0, **settings)
                model.fit(parts.train.X, parts.train.y).predict(parts.test.X)

            what = f"{name}: choose strategy, train and predict, {kind.__name__}"
            yield limit_row(what, seconds(work), most, "s")

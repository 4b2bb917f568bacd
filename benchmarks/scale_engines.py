"""What fits on Dask and on Spark share: the table, the clock of the rounds, the report."""

import os
import time
from contextlib import contextmanager

import numpy as np

from benchmarks.scale import FEATURES, chunk, forest
from dpforest.privacy.desk import Desk
from dpforest.records.statistics import GradientSums


def write(folder, rows, files):
    """Parquet files of the same size; gives the table in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = [chunk(number, rows // files) for number in range(files)]
    for number, (X, y) in enumerate(parts):
        table = pa.table({f"x{j}": X[:, j] for j in range(FEATURES)} | {"y": y})
        pq.write_table(table, f"{folder}/part-{number:05}.parquet")
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


@contextmanager
def clock(disturb=None, at=40):
    """The seconds of every round, until the block ends; ``disturb`` is called in one of them."""
    total, seconds = Desk.total, []

    def timed(self, statistic):
        if not isinstance(statistic, GradientSums):
            return total(self, statistic)
        started = time.perf_counter()
        if disturb is not None and len(seconds) == at:
            disturb()
        found = total(self, statistic)
        seconds.append(time.perf_counter() - started)
        return found

    Desk.total = timed
    try:
        yield seconds
    finally:
        Desk.total = total


def fit(what, table, y, expected=None, disturb=None):
    """Fit and report; gives the model and the median of a round, in seconds."""
    with clock(disturb) as seconds:
        started = time.perf_counter()
        model = forest().fit(table, y)
        whole = time.perf_counter() - started
    middle = float(np.median(seconds))
    same = "" if expected is None else f", the same model: {same_model(model, expected)}"
    print(
        f"{what}: a round {1000 * middle:.0f} ms (first ten {1000 * np.mean(seconds[:10]):.0f}, "
        f"last ten {1000 * np.mean(seconds[-10:]):.0f}, shortest {1000 * min(seconds):.0f}, "
        f"longest {1000 * max(seconds):.0f}), "
        f"{len(seconds)} rounds, fit {whole:.1f} s{same}; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return model, middle, max(seconds) - middle


def same_model(one, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))


def arrays(model):
    trees = model.forest_.trees
    return [model.forest_.values, trees.feature, trees.goes_right]

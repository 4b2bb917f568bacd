"""What fits on Dask and on Spark share: the table, the clock of the rounds, the report."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.scale import FEATURES, chunk, forest
from dpforest.privacy.desk import Desk
from dpforest.records.gradient_sums import GradientSums

TICKS = os.sysconf("SC_CLK_TCK")


def write(folder, rows, files):
    """Parquet files of the same size; gives the table in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = [chunk(number, rows // files) for number in range(files)]
    for number, (X, y) in enumerate(parts):
        table = pa.table({f"x{j}": X[:, j] for j in range(FEATURES)} | {"y": y})
        pq.write_table(table, f"{folder}/part-{number:05}.parquet")
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def processor_seconds():
    """What this process and all that it started have used of the processors."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        found[int(entry.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
    ours, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        ours += found[process][1]
        waiting += [child for child, (parent, _) in found.items() if parent == process]
    return ours


@contextmanager
def clock(disturb=None, at=40):
    """The seconds of every round, until the block ends; ``disturb`` is called in one of them."""
    total, seconds = Desk.total, []

    def timed(self, statistic):
        if not isinstance(statistic, GradientSums):
            return total(self, statistic)
        started, work = time.perf_counter(), processor_seconds()
        if disturb is not None and len(seconds) == at:
            disturb()
        found = total(self, statistic)
        seconds.append((time.perf_counter() - started, processor_seconds() - work))
        return found

    Desk.total = timed
    try:
        yield seconds
    finally:
        Desk.total = total


def fit(what, table, y, expected=None, disturb=None):
    """Fit and report; gives the model, the median of a round in seconds, and what the longest took.

    Where other work shares the processors, their seconds tell more than those of the clock.
    """
    with clock(disturb) as rounds:
        started = time.perf_counter()
        model = forest().fit(table, y)
        whole = time.perf_counter() - started
    seconds, work = np.array(rounds).T
    middle = float(np.median(seconds))
    same = "" if expected is None else f", the same model: {same_model(model, expected)}"
    print(
        f"{what}: a round {1000 * middle:.0f} ms (first ten {1000 * seconds[:10].mean():.0f}, "
        f"last ten {1000 * seconds[-10:].mean():.0f}, shortest {1000 * seconds.min():.0f}, "
        f"longest {1000 * seconds.max():.0f}), of the processors {1000 * np.median(work):.0f} ms "
        f"(last ten {1000 * work[-10:].mean():.0f}); {len(seconds)} rounds, fit {whole:.1f} s"
        f"{same}; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return model, middle, float(seconds.max()) - middle


def same_model(one, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))


def arrays(model):
    trees = model.forest_.trees
    return [model.forest_.values, trees.feature, trees.goes_right]

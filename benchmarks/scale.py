"""How a fit scales: tables that are not in memory, against one that is.

    python -m benchmarks.scale parquet --rows 20000000 --memory-rows 20000000
    python -m benchmarks.scale dask
    python -m benchmarks.scale spark

Every fit runs in a process of its own, whose largest resident set is reported. The table is made
chunk by chunk in a temporary folder below ``--folder`` and deleted at the end.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

FEATURES = 20
CHUNK = 1_000_000


def schema():
    from dpforest import NumericFeature, Schema, Target

    features = tuple(NumericFeature(f"x{j}", -8, 8) for j in range(FEATURES))
    return Schema(features, Target("y", classes=(0, 1)))


def chunk(number, rows):
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(rows) > 0).astype(np.int64)
    return X, y


def chunks(rows):
    for number, start in enumerate(range(0, rows, CHUNK)):
        yield chunk(number, min(CHUNK, rows - start))


def write(folder, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, (X, y) in enumerate(chunks(rows)):
        table = pa.table({f"x{j}": X[:, j] for j in range(FEATURES)} | {"y": y})
        pq.write_table(
            table,
            folder / f"part-{number:05}.parquet",
            row_group_size=CHUNK // 4,
            use_dictionary=False,
        )


def forest():
    from dpforest import PrivateForestClassifier

    return PrivateForestClassifier(epsilon=1.0, schema=schema(), random_state=0)


def fit_memory(rows):
    X, y = np.empty((rows, FEATURES)), np.empty(rows, np.int64)
    for number, (some, labels) in enumerate(chunks(rows)):
        part = slice(number * CHUNK, number * CHUNK + len(labels))
        X[part], y[part] = some, labels
    return timed(X, y)


def fit_parquet(folder):
    from dpforest import ParquetTable

    return timed(ParquetTable(folder), "y")


def timed(table, y):
    warm, labels = chunk(0, 2_000)
    forest().fit(warm, labels)  # compiled code is loaded
    started, worked = time.perf_counter(), time.process_time()
    model = forest().fit(table, y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    trees, values = model.forest_.trees.n_trees, model.forest_.values.tobytes()
    report = {"seconds": seconds, "cpu": cpu, "peak MiB": peak_memory(), "trees": trees}
    return report | {"model": hashlib.sha256(values).hexdigest()}


def peak_memory():
    """The largest resident set, in MiB; that of `resource` would count the parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def in_own_process(*arguments):
    """The report of a fit, the numbers of which are those of that process alone."""
    command = [sys.executable, "-m", "benchmarks.scale", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def compare(rows, memory_rows, below):
    with tempfile.TemporaryDirectory(dir=below) as folder:
        started = time.perf_counter()
        write(Path(folder), rows)
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**30
        print(
            f"written: {rows:,} x {FEATURES}, {size:.1f} GiB, {time.perf_counter() - started:.0f} s"
        )
        stream = in_own_process("fit-parquet", folder)
        print(f"parquet: {told(stream, rows)}", flush=True)
    if memory_rows:
        memory = in_own_process("fit-memory", memory_rows)
        print(f"memory, {memory_rows:,} rows: {told(memory, memory_rows)}")
        ratio = stream["seconds"] / rows / (memory["seconds"] / memory_rows)
        work = stream["cpu"] / rows / (memory["cpu"] / memory_rows)
        print(f"time a row, parquet over memory: {ratio:.2f}; of the processors, {work:.2f}")
        if rows == memory_rows:
            print(f"the same model: {stream['model'] == memory['model']}")


def told(report, rows):
    seconds, peak = report["seconds"], report["peak MiB"]
    return (
        f"{seconds:.1f} s, {1e6 * seconds / rows:.2f} us a row, {report['cpu']:.1f} s of the "
        f"processors, peak {peak:.0f} MiB, "
        f"{report['trees']} trees"
    )


def main():
    parser = argparse.ArgumentParser(prog="benchmarks.scale")
    commands = parser.add_subparsers(dest="command", required=True)
    parquet = commands.add_parser("parquet", help="a folder of Parquet files against memory")
    parquet.add_argument("--rows", type=int, default=20_000_000)
    parquet.add_argument("--memory-rows", type=int, default=0, help="0 for no fit in memory")
    parquet.add_argument("--folder", default=None, help="where there is room for the table")
    commands.add_parser("fit-parquet").add_argument("folder")
    commands.add_parser("fit-memory").add_argument("rows", type=int)
    for engine in ("dask", "spark"):
        command = commands.add_parser(engine, help=f"{engine} on this machine against memory")
        command.add_argument("--rows", type=int, default=2_000_000)
    commands.add_parser("plan", help="rounds of clusters of all sizes, on paper")
    asked = parser.parse_args()
    if asked.command == "plan":
        import_module("benchmarks.scale_plan").table()
        return
    if asked.command in ("dask", "spark"):
        import_module(f"benchmarks.scale_{asked.command}").measure(asked.rows)
        return
    if asked.command == "parquet":
        compare(asked.rows, asked.memory_rows, asked.folder)
    elif asked.command == "fit-parquet":
        print(json.dumps(fit_parquet(asked.folder)))
    else:
        print(json.dumps(fit_memory(asked.rows)))


if __name__ == "__main__":
    main()

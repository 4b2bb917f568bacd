"""Spark on two cores against memory: a round, its growth, and a killed executor."""

import os
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.scale_engines import fit, write

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.memory": "3g",
    "spark.executor.memory": "2g",
}


def session(master):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("dpforest benchmark")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measure(rows, files=8):
    with tempfile.TemporaryDirectory() as folder:
        X, y = write(folder, rows, files)
        fit("memory, to load compiled code", X[:2_000], y[:2_000])
        expected, memory, _ = fit("memory", X, y)
        del X, y
        spark = session("local[2]")
        frame = spark.read.parquet(folder)
        print(f"{frame.rdd.getNumPartitions()} partitions")
        fit("spark, to load compiled code", frame.limit(2_000), "y")
        _, middle, _ = fit("spark local[2]", frame, "y", expected)
        print(f"a round: {1000 * middle:.0f} ms (bar 450), memory {1000 * memory:.0f} ms")
        spark.stop()
        spark = session("local-cluster[2,1,2048]")
        frame = spark.read.parquet(folder)
        disturb = partial(kill, spark.sparkContext._gateway.proc.pid)
        _, _, lost = fit("spark local-cluster, an executor killed", frame, "y", expected, disturb)
        print(f"a killed executor costs {lost:.1f} s (bar 30)")
        spark.stop()


def kill(java):
    """Kill one executor that our own Java started; its worker starts another."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == java and b"CoarseGrainedExecutorBackend" in command:
            os.kill(int(entry.name), signal.SIGKILL)
            return
    raise RuntimeError("no executor found")

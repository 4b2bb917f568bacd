"""Clocks: repeated timing, peak memory, fresh processes."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    measured: str
    bar: str
    met: bool


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The median time of some repeats."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ratio_row(what: str, ours: float, theirs: float, most: float) -> Row:
    """Our time as a share of a peer's, against the share allowed."""
    ratio = ours / theirs
    measured = f"{ours:.3g} s, peer {theirs:.3g} s: 1/{1 / ratio:.1f}"
    return Row(what, measured, f"at most 1/{1 / most:.3g}", ratio <= most)


def limit_row(what: str, value: float, most: float, unit: str) -> Row:
    return Row(what, f"{value:.3g} {unit}", f"at most {most:g} {unit}", value <= most)


def in_fresh_process(code: str, empty_cache: bool = False) -> float:
    """The number on the last line that code prints in a new interpreter."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"NUMBA_CACHE_DIR": cache} if empty_cache else {}
        output = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        ).stdout
    return float(output.splitlines()[-1])

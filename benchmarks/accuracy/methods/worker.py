"""Measure cells in a subprocess: a folder of splits as argument, a cell a line in, a result out."""

import json
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.accuracy.splits import Split

Predictor = Callable[[Split, str, float, int], np.ndarray]


def serve(predict: Predictor) -> None:
    """Answer every line of standard input; a library that prints does so on standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    load = lru_cache(maxsize=1)(Split.load)  # cells come a seed at a time
    for line in sys.stdin:
        cell = json.loads(line)
        split = load(Path(sys.argv[1]) / f"{cell['seed']}.npz")
        start = time.perf_counter()
        predicted = predict(split, cell["method"], float(cell["epsilon"]), cell["seed"])
        seconds = time.perf_counter() - start
        answer = {"score": score(split, predicted), "seconds": round(seconds, 3)}
        print(json.dumps({**cell, **answer}), file=answers, flush=True)


def score(split: Split, predicted: np.ndarray) -> float:
    """Return the accuracy, or the mean squared error of a numeric target."""
    if split.n_classes:
        return round(float(np.mean(predicted == split.y_test)), 5)
    return round(float(np.mean((predicted - split.y_test) ** 2)), 7)

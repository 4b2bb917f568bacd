"""How honest probabilities are: expected calibration error and log loss, table by table.

``DPFOREST_DATA=folder python -m benchmarks.calibration [table ...]`` fits the flagship with its
defaults: 80 of 100 records to train, the rest to test, everything paid for, mean of five fits (two
from 100,000 records on). The error is that of the most probable class: records are put into ten
bins of equal width by its probability, and the distances between the mean probability and the share
that is right are averaged over records. In brackets the error that honest probabilities would have
by chance: labels are drawn from them; then the log loss. Tables that are not named keep theirs.
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dpforest import LittleSignalWarning, PrivateForestClassifier, datasets

EPSILONS = (0.5, 1.0, 2.0, math.inf)
RUNS, MANY_RECORDS, RUNS_OF_MANY, BINS = 5, 100_000, 2, 10
RESULTS = Path(__file__).parent / "calibration.json"
PAGE = Path(__file__).parents[1] / "docs" / "flagship.md"
PLACE = re.compile(r"(?<=<!-- calibration -->\n).*(?=<!-- end of calibration -->)", re.DOTALL)


def measure(name: str) -> dict[str, dict[str, float]]:
    """By epsilon: accuracy, calibration error, what chance makes of it, log loss."""
    data = datasets.load(name)
    y = np.asarray(data.y)
    found: dict[str, list[dict[str, float]]] = {f"{epsilon:g}": [] for epsilon in EPSILONS}
    for seed in range(RUNS if len(y) < MANY_RECORDS else RUNS_OF_MANY):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y
        )
        for epsilon in EPSILONS:
            model = PrivateForestClassifier(epsilon=epsilon, schema=data.schema, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LittleSignalWarning)
                model.fit(data.X.iloc[train], y[train])
            probabilities = model.predict_proba(data.X.iloc[test])
            codes = (y[test][:, None] == np.asarray(model.classes_)).argmax(axis=1)
            found[f"{epsilon:g}"].append(figures(probabilities, codes, seed))
    return {
        e: {k: float(np.mean([f[k] for f in runs])) for k in runs[0]} for e, runs in found.items()
    }


def figures(probabilities: Any, codes: Any, seed: int) -> dict[str, float]:
    """What one model says of test records, beside their classes."""
    heights = np.random.default_rng(seed).random((len(codes), 1))
    drawn = (probabilities.cumsum(axis=1)[:, :-1] < heights).sum(axis=1)
    labels = np.arange(probabilities.shape[1])
    return {
        "accuracy": float((probabilities.argmax(axis=1) == codes).mean()),
        "error": calibration_error(probabilities, codes),
        "by chance": calibration_error(probabilities, drawn),
        "log loss": float(log_loss(codes, probabilities, labels=labels)),
    }


def calibration_error(probabilities: Any, codes: Any) -> float:
    """Of the most probable class, in ten bins of equal width."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    places = np.minimum((sure * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(places, sure - right, BINS)).sum() / len(codes))


def row(name: str, found: dict[str, dict[str, float]]) -> str:
    """One table: the error, by chance, and the log loss at each epsilon."""
    cells = [
        f"{f['error']:.3f} ({f['by chance']:.3f}), {f['log loss']:.3f}" for f in found.values()
    ]
    return "| " + " | ".join([f"`{name}`", *cells]) + " |"


def page(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The figures as a table."""
    names = [f"epsilon = {epsilon:g}" for epsilon in EPSILONS]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    return "\n".join([*lines, *(row(name, found) for name, found in results.items()), ""])


def main() -> None:
    """Measure some tables, or all of classes; keep the figures, and write them into the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    classed = [name for name in datasets.names() if datasets.load(name).schema.target.classes]
    for name in sys.argv[1:] or classed:
        results[name] = measure(name)
        print(row(name, results[name]), flush=True)
        results = dict(sorted(results.items()))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


if __name__ == "__main__":
    main()

"""Does more budget ever make a worse model? Every table at five epsilons.

``DPFOREST_DATA=folder python -m benchmarks.monotone [table ...]`` fits the flagship with its
defaults: 80 of 100 records to train, the rest to test, everything paid for, mean of ten fits (three
from 100,000 records on). A mean *falls* when it is below the best at a smaller epsilon by more than
its standard error. Means are of accuracy, or of R2; tables that are not named keep theirs.
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
from sklearn.model_selection import train_test_split

from dpforest import LittleSignalWarning, PrivateForestClassifier, PrivateForestRegressor, datasets

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
RUNS, MANY_RECORDS, RUNS_OF_MANY = 10, 100_000, 3
RESULTS = Path(__file__).parent / "monotone.json"
PAGE = Path(__file__).parents[1] / "docs" / "flagship.md"
PLACE = re.compile(r"(?<=<!-- monotone -->\n).*(?=<!-- end of monotone -->)", re.DOTALL)


def measure(name: str) -> dict[str, Any]:
    """The mean score at each epsilon, and its standard error."""
    data = datasets.load(name)
    y, classes = np.asarray(data.y), data.schema.target.classes
    Estimator = PrivateForestClassifier if classes else PrivateForestRegressor
    runs = RUNS if len(y) < MANY_RECORDS else RUNS_OF_MANY
    scores = np.zeros((runs, len(EPSILONS)))
    for seed in range(runs):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y if classes else None
        )
        for place, epsilon in enumerate(EPSILONS):
            model = Estimator(epsilon=epsilon, schema=data.schema, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LittleSignalWarning)
                model.fit(data.X.iloc[train], y[train])
            scores[seed, place] = model.score(data.X.iloc[test], y[test])
    errors = scores.std(axis=0, ddof=1) / math.sqrt(runs)
    return {"runs": runs, "mean": scores.mean(axis=0).tolist(), "error": errors.tolist()}


def falls(found: dict[str, Any]) -> list[str]:
    """The epsilons at which the mean is below the best before by more than its error."""
    best = np.maximum.accumulate(found["mean"])[:-1]
    below = np.asarray(found["mean"])[1:] < best - np.asarray(found["error"])[1:]
    return [f"{e:g}" for e in np.asarray(EPSILONS)[1:][below]]


def row(name: str, found: dict[str, Any]) -> str:
    """One table: means with their errors, and where they fall."""
    cells = [f"{m:.3f} ({e:.3f})" for m, e in zip(found["mean"], found["error"], strict=True)]
    where = ", ".join(falls(found)) or "–"
    return "| " + " | ".join([f"`{name}`", str(found["runs"]), *cells, where]) + " |"


def page(results: dict[str, dict[str, Any]]) -> str:
    """The figures as a table."""
    names = ["fits", *(f"epsilon = {epsilon:g}" for epsilon in EPSILONS), "falls at"]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    return "\n".join([*lines, *(row(name, found) for name, found in results.items()), ""])


def main() -> None:
    """Measure some tables, or all; keep the figures, and write them into the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or datasets.names():
        results[name] = measure(name)
        print(row(name, results[name]), flush=True)
        results = dict(sorted(results.items()))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    falling = [name for name, found in results.items() if falls(found)]
    print(f"{len(falling)} of {len(results)} tables fall: {', '.join(falling)}")
    PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


if __name__ == "__main__":
    main()

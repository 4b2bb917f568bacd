"""Where forests do not beat the majority class, and whether they say so: LittleSignalWarning.

``DPFOREST_DATA=folder python -m benchmarks.little_signal`` fits forests at epsilon 0.01 to 1 on
small data sets and on samples of large ones, exact figures on other records, mean of five fits. A
case is *poor* where the mean gain (accuracy over that of the most frequent class, or R2) is at most
a hundredth.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dpforest
from dpforest import LittleSignalWarning, datasets

SMALL = ("hungarian", "heart", "voting", "balance_scale", "wisconsin", "credit_screening")
CLASSES = (*SMALL, "blood_transfusion", "pima", "tic_tac_toe", "banknote", "adult", "nursery")
NUMBERS = ("abalone", "california_housing", "kin8nm", "cpu_act", "bike_sharing", "parkinsons")
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
MOST_ROWS, RUNS, POOR = 2_500, 5, 0.01
FORESTS: dict[str, dict[str, Any]] = {
    "PrivateForestClassifier": {},
    "PrivateForestClassifier, delta = 0": {"delta": 0.0},
    "RandomDecisionForestClassifier": {},
    "MedianForestClassifier": {},
    "PrivateForestRegressor": {},
    "PrivateForestRegressor, delta = 0": {"delta": 0.0},
}
RESULTS = Path(__file__).parent / "little_signal.json"
PAGE = Path(__file__).parents[1] / "docs" / "small-data.md"
PLACE = re.compile(r"(?<=<!-- warnings -->\n).*(?=<!-- end -->)", re.DOTALL)


def case(forest: str, name: str, epsilon: float) -> dict[str, Any]:
    """The mean gain of a forest on a data set, and how often it warned."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, object), np.asarray(data.y)
    gains, warned = [], 0
    for seed in range(RUNS):
        order = np.random.default_rng(seed).permutation(len(y))
        n = int(0.8 * min(len(y), MOST_ROWS))
        train, test = order[:n], order[n : n + 2_000]
        kind = getattr(dpforest, forest.split(",")[0])
        model = kind(schema=data.schema, epsilon=epsilon, random_state=seed, **FORESTS[forest])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            score = model.fit(X[train], y[train]).score(X[test], y[test])
        warned += any(issubclass(w.category, LittleSignalWarning) for w in caught)
        values, counts = np.unique(y[train], return_counts=True)
        without = 0.0 if name in NUMBERS else float((y[test] == values[counts.argmax()]).mean())
        gains.append(score - without)
    return {"data": name, "epsilon": epsilon, "gain": float(np.mean(gains)), "warned": warned}


def main() -> None:
    """Measure, keep the figures, and write them into the page."""
    results = {}
    for forest in FORESTS:
        names = NUMBERS if "Regressor" in forest else CLASSES
        results[forest] = [case(forest, name, epsilon) for name in names for epsilon in EPSILONS]
        print(row(forest, results[forest]), flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if PAGE.exists():
        PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


def row(forest: str, cases: list[dict[str, Any]]) -> str:
    """How often a warning came, of poor cases and of others."""
    poor = [c for c in cases if c["gain"] <= POOR]
    good = [c for c in cases if c["gain"] > POOR]
    shares = [np.mean([c["warned"] / RUNS for c in some]) for some in (poor, good)]
    clearly = [c["warned"] / RUNS for c in good if c["gain"] > 10 * POOR]
    cells = [f"{share:.0%}" for share in (*shares, np.mean(clearly))]
    return f"| `{forest}` | {len(poor)} | {len(good)} | " + " | ".join(cells) + " |"


def page(results: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = [
        "| forest | poor cases | others | warned, of poor | of others | of a gain above 0.1 |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(row(f, cases) for f, cases in results.items())]) + "\n"


if __name__ == "__main__":
    main()

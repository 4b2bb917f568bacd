"""Small tables at small budgets: beside the most frequent class, and beside private peers.

``DPFOREST_DATA=folder python -m benchmarks.small_tables`` fits the flagship at epsilon 0.01 to 0.1
on the tables of fewer than 1,000 records: 80 of 100 records to train, the rest to test, mean of 30
fits with everything paid for. Peers are those of `benchmarks.accuracy` at epsilon 0.1, each at one
setting for all tables (the better of two for forests of diffprivlib), as far as measured there.
"""

from __future__ import annotations

import csv
import json
import math
import re
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from dpforest import LittleSignalWarning, PrivateForestClassifier, datasets

TABLES = (
    "iris", "hungarian", "heart", "voting", "balance_scale", "credit_screening", "wisconsin",
    "blood_transfusion", "pima", "tic_tac_toe", "mammographic",
)  # fmt: skip
EPSILONS = (0.01, 0.03, 0.05, 0.1)
RUNS = 30
PEERS = ("diffprivlib_depth5", "diffprivlib_depth8", "dp_ebm", "noisy_gd_steps100_rate4_clip0.2")
RESULTS = Path(__file__).parent / "small_tables.json"
MEASURED = Path(__file__).parent / "accuracy" / "results"
PAGE = Path(__file__).parents[1] / "docs" / "small-data.md"
PLACE = re.compile(r"(?<=<!-- small tables -->\n).*(?=<!-- end of small tables -->)", re.DOTALL)


def measure(name: str) -> dict[str, Any]:
    """The mean accuracy at each epsilon, and of the most frequent class."""
    data = datasets.load(name)
    y = np.asarray(data.y)
    scores: dict[float, list[float]] = {epsilon: [] for epsilon in EPSILONS}
    most_frequent, gaps, n_train = [], [], 0
    for seed in range(RUNS):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y
        )
        labels, counts = np.unique(y[train], return_counts=True)
        n_train, (second, first) = len(train), np.sort(counts)[-2:]
        gaps.append(first - second)
        most_frequent.append(float(np.mean(y[test] == labels[counts.argmax()])))
        for epsilon, found in scores.items():
            model = PrivateForestClassifier(epsilon=epsilon, schema=data.schema, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LittleSignalWarning)
                model.fit(data.X.iloc[train], y[train])
            found.append(model.score(data.X.iloc[test], y[test]))
    majority, gap = float(np.mean(most_frequent)), float(np.mean(gaps))
    return {
        "rows": len(y),
        "most frequent": majority,
        "accuracy": {str(e): float(np.mean(found)) for e, found in scores.items()},
        "error": {str(e): float(np.std(found) / math.sqrt(RUNS)) for e, found in scores.items()},
        "best without features": {str(e): majority - cost(gap, n_train, e) for e in EPSILONS},
    }


def cost(gap: float, n_train: int, epsilon: float) -> float:
    """What no private answer that knows classes alone can save, of two; 0 where they are alike."""
    return 0.5 * math.exp(-epsilon * gap) * gap / n_train


def peers() -> dict[str, dict[str, float]]:
    """By table: the accuracy of each peer at epsilon 0.1, as far as it was measured."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(MEASURED.glob("*.csv")):
        with path.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if float(row["epsilon"]) == 0.1 and row["method"] in PEERS:
                    found[row["dataset"]][row["method"]].append(float(row["score"]))
    return {
        name: {method: float(np.mean(scores)) for method, scores in methods.items()}
        for name, methods in found.items()
    }


def main() -> None:
    """Measure, keep the figures, and write them into the page."""
    results = {}
    for name in TABLES:
        results[name] = measure(name)
        print(row(name, results[name], peers().get(name, {})), flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if PAGE.exists():
        PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


def row(name: str, found: dict[str, Any], rivals: dict[str, float]) -> str:
    """One table: rows, most frequent class, ours at each epsilon, the best peer at 0.1."""
    cells = [
        f"{found['accuracy'][str(e)]:.3f} ({found['best without features'][str(e)]:.3f})"
        for e in EPSILONS
    ]
    best = max(rivals, key=rivals.__getitem__, default="")
    peer = f"{rivals[best]:.3f} ({best})" if best else "–"
    head = [f"`{name}`", f"{found['rows']:,}", f"{found['most frequent']:.3f}"]
    return "| " + " | ".join([*head, *cells, peer]) + " |"


def page(results: dict[str, Any]) -> str:
    """The figures as a table."""
    rivals = peers()
    lines = [
        "| table | rows | most frequent class | 0.01 | 0.03 | 0.05 | 0.1 | best peer at 0.1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [row(name, found, rivals.get(name, {})) for name, found in results.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

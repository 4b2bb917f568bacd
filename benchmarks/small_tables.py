"""Small tables at small budgets: beside the most frequent class, and beside private peers.

``DPFOREST_DATA=folder python -m benchmarks.small_tables`` fits the flagship at epsilon 0.01 to 0.1
on the tables of fewer than 1,000 records: 80 of 100 records to train, the rest to test, mean of 30
fits with everything paid for. Peers are those of `benchmarks.accuracy` at epsilon 0.1, on the same
30 splits, each at one setting for all tables (the better of two for forests of diffprivlib); what
was measured of them is kept in a folder, and what is missing there is measured.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import __main__ as accuracy
from benchmarks.accuracy import results as measured
from benchmarks.accuracy.methods import GROUPS
from dpforest import LittleSignalWarning, PrivateForestClassifier, datasets

TABLES = (
    "iris", "hungarian", "heart", "voting", "balance_scale", "credit_screening", "wisconsin",
    "blood_transfusion", "pima", "tic_tac_toe", "mammographic",
)  # fmt: skip
EPSILONS = (0.01, 0.03, 0.05, 0.1)
RUNS = 30
PEERS = ("diffprivlib_depth5", "diffprivlib_depth8", "dp_ebm", "noisy_gd_steps100_rate4_clip0.2")
RESULTS = Path(__file__).parent / "small_tables.json"
MEASURED = Path(__file__).parent / "small_tables_peers"
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


def peers(name: str) -> dict[str, float]:
    """The mean accuracy of each peer on a table, at epsilon 0.1."""
    groups = [replace(g, private=tuple(m for m in g.private if m in PEERS)) for g in GROUPS]
    accuracy.measure(name, RUNS, [g for g in groups if g.private], [0.1], MEASURED)
    scores: dict[str, list[float]] = {method: [] for method in PEERS}
    for result in measured.read(folder=MEASURED):
        if result.dataset == name:
            scores[result.method].append(result.score)
    return {method: float(np.mean(found)) for method, found in scores.items() if found}


def main() -> None:
    """Measure, keep the figures, and write them into the page."""
    results = {}
    for name in TABLES:
        results[name] = measure(name) | {"peers": peers(name)}
        print(row(name, results[name]), flush=True)
    level = sum(r["accuracy"]["0.1"] >= max(r["peers"].values()) for r in results.values())
    print(f"at 0.1 level with the best peer, or ahead, on {level} of {len(results)}")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if PAGE.exists():
        PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


def row(name: str, found: dict[str, Any]) -> str:
    """One table: rows, most frequent class, ours at each epsilon, the best peer at 0.1."""
    cells = [
        f"{found['accuracy'][str(e)]:.3f} ({found['best without features'][str(e)]:.3f})"
        for e in EPSILONS
    ]
    rivals = found["peers"]
    best = max(rivals, key=rivals.__getitem__)
    peer = f"{rivals[best]:.3f} ({best})"
    head = [f"`{name}`", f"{found['rows']:,}", f"{found['most frequent']:.3f}"]
    return "| " + " | ".join([*head, *cells, peer]) + " |"


def page(results: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = [
        "| table | rows | most frequent class | 0.01 | 0.03 | 0.05 | 0.1 | best peer at 0.1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [row(name, found) for name, found in results.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

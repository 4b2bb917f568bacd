"""What balanced classes do at epsilon 1: recall of the rare class and AUC, beside no weights.

``DPFOREST_DATA=folder python -m benchmarks.imbalance`` trains the flagship on 70 % of each table
and measures on the rest, exactly; mean of ten splits. Third, the same weights on the records of a
class while training: what `class_weight` could have been.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.metrics import recall_score, roc_auc_score

from dpforest import NumericFeature, PrivateForestClassifier, Schema, Target, datasets
from dpforest.tables.encode import encode_labels

SETS = ("credit_default", "adult", "diabetes_prediction", "blood_transfusion", "pima")
GENERATED = (5_000, 20_000, 100_000)
EPSILON, RUNS, MOST_ROWS, RARE = 1.0, 10, 60_000, 0.05
RESULTS = Path(__file__).parent / "imbalance.json"
PAGE = Path(__file__).parents[1] / "docs" / "imbalance.md"
PLACE = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end -->)", re.DOTALL)


def generated(n: int) -> tuple[Any, Any, Schema]:
    """Eight features, four of which matter, and a class that one record in twenty has."""
    rng = np.random.default_rng(n)
    X = rng.random((n, 8))
    score = 8 * (X[:, 0] - 0.5) + 12 * (X[:, 1] - 0.5) * (X[:, 2] > 0.5) + 4 * (X[:, 3] - 0.5)
    shift = brentq(lambda b: expit(score + b).mean() - RARE, -30, 30)
    y = (rng.random(n) < expit(score + shift)).astype(int)
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(8))
    return X, y, Schema(features, Target(classes=(0, 1)))


def tables() -> dict[str, tuple[Any, Any, Schema]]:
    """Every table by its name."""
    found = {f"generated, {n:,} records": generated(n) for n in GENERATED}
    for name in SETS:
        data = datasets.load(name)
        found[name] = np.asarray(data.X, object), data.y, data.schema
    return found


def run(X: Any, y: Any, schema: Schema, seed: int) -> dict[str, list[float]]:
    """Recall of the rare class, mean recall and AUC, by the way of weighting."""
    order = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    train, test = np.split(order, [int(0.7 * len(order))])
    codes = encode_labels(y, schema.classes)
    counts = np.bincount(codes[train])
    weights = len(train) / (2 * counts)
    rare = int(counts.argmin())
    options = {"schema": schema, "epsilon": EPSILON, "random_state": seed}
    heavy: dict[str, Any] = {"sample_weight": weights[codes[train]]}
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "none": ({}, {}),
        "balanced": ({"class_weight": "balanced"}, {}),
        "records": ({"max_sample_weight": float(weights.max())}, heavy),
    }
    found = {}
    for name, (more, beside) in ways.items():
        forest = PrivateForestClassifier(**options, **more).fit(X[train], y[train], **beside)
        says = encode_labels(forest.predict(X[test]), schema.classes)
        recalls = recall_score(codes[test], says, average=None)
        auc = roc_auc_score(codes[test] == rare, forest.predict_proba(X[test])[:, rare])
        found[name] = [recalls[rare], recalls.mean(), auc]
    return found


def main() -> None:
    """Measure, keep the figures, and write them into the page."""
    results: dict[str, Any] = {}
    for name, (X, y, schema) in tables().items():
        runs = [run(X, y, schema, seed) for seed in range(RUNS)]
        means = {way: np.mean([r[way] for r in runs], axis=0).round(4).tolist() for way in runs[0]}
        share = float(np.unique(y, return_counts=True)[1].min() / len(y))
        results[name] = {"rare": round(share, 3), **means}
        print(name, results[name], flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if PAGE.exists():
        PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


def page(results: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = [
        "| table | rare class | recall: no weights | `balanced` | weighted records "
        "| AUC: no weights | `balanced` | weighted records |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in results.items():
        cells = [f"{row[way][k]:.3f}" for k in (0, 2) for way in ("none", "balanced", "records")]
        lines.append(f"| {name} | {row['rare']:.1%} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

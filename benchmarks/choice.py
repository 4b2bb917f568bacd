"""Does a paid search pay? The best of 20 settings at epsilon 1 against the defaults at 1/3.

``DPFOREST_DATA=folder python -m benchmarks.choice`` searches among 20 settings of the flagship with
random stopping, at a total of (1, 1e-6), and fits the defaults at (1/3, 1e-6) and (1, 1e-6) on the
same training halves; all are scored on the same test records (accuracy, or R2 of numbers). A search
is as good as the defaults on a data set when its mean over the seeds is not below theirs. The
figures are printed, kept in ``choice.json`` and put into ``docs/choice.md``.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from dpforest import PrivateForestClassifier, PrivateForestRegressor, PrivateSearchCV, datasets

CLASSES = (
    "adult", "credit_default", "diabetes_prediction", "eeg_eye", "nursery", "pendigits", "covtype",
    "letter",
)  # fmt: skip
NUMBERS = ("california_housing", "bike_sharing")
CANDIDATES = {"max_depth": [2, 3, 4, 6, "auto"], "n_estimators": [50, 200, 800, "auto"]}
FIRST_SEED = 10  # smaller ones were looked at while the rule for the law of stopping was made
MOST_ROWS, EPSILON, DELTA = 20_000, 1.0, 1e-6
RESULTS = Path(__file__).parent / "choice.json"
PAGE = Path(__file__).parents[1] / "docs" / "choice.md"
PLACE = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end -->)", re.DOTALL)


def scores(name: str, seed: int) -> dict[str, float]:
    """What the search and the defaults reach on one split of a data set."""
    data = datasets.load(name)
    rows = np.random.default_rng(seed).permutation(len(data.y))[:MOST_ROWS]
    cut = int(0.7 * len(rows))
    train, test = rows[:cut], rows[cut:]
    kind = PrivateForestRegressor if name in NUMBERS else PrivateForestClassifier

    def default(epsilon: float) -> Any:
        return kind(epsilon=epsilon, delta=DELTA, schema=data.schema, random_state=seed)

    search = PrivateSearchCV(
        kind(schema=data.schema), CANDIDATES, epsilon=EPSILON, delta=DELTA, random_state=seed
    )
    models = {"search": search, "third": default(EPSILON / 3), "whole": default(EPSILON)}
    held_out = data.X.iloc[test], data.y[test]
    return {
        label: float(model.fit(data.X.iloc[train], data.y[train]).score(*held_out))
        for label, model in models.items()
    }


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| data | best of 20 at epsilon 1 | defaults at 1/3 | defaults at 1 | search less 1/3 |",
        "|---|---|---|---|---|",
    ]
    reached = 0
    for name, runs in found.items():
        means = {label: np.mean([run[label] for run in runs]) for label in runs[0]}
        gaps = [run["search"] - run["third"] for run in runs]
        error = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
        reached += int(means["search"] >= means["third"])
        lines.append(
            f"| {name} | {means['search']:.4f} | {means['third']:.4f} | {means['whole']:.4f} | "
            f"{round(float(np.mean(gaps)), 4) + 0.0:+.4f} ± {error:.4f} |"
        )
    seeds = len(next(iter(found.values())))
    lines.append(f"\nAt least as good on {reached} of {len(found)} data sets ({seeds} seeds each).")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and keep the figures, and put them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    for name in (*CLASSES, *NUMBERS):
        found[name] = [scores(name, FIRST_SEED + i) for i in range(asked.seeds)]
        means = {
            k: round(float(np.mean([run[k] for run in found[name]])), 4) for k in found[name][0]
        }
        print(f"{name:22} {means}", flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    if PAGE.exists():
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(PLACE.sub(lambda _: "\n" + table(found) + "\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()

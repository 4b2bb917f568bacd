"""How good private quantiles and intervals are, beside a constant and scikit-learn without privacy.

``DPFOREST_DATA=folder python -m benchmarks.quantiles`` fits three data sets, 80/20, two seeds,
defaults, everything paid for, and writes the figures into the page of the flagship.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss

from dpforest import PrivateForestRegressor, PrivateIntervalRegressor, datasets

NAMES = ("abalone", "bike_sharing", "california_housing")
QUANTILES, COVERAGE, EPSILON, SEEDS = (0.1, 0.5, 0.9), 0.9, 1.0, (0, 1)
ENDS = (0.5 * (1 - COVERAGE), 0.5 * (1 + COVERAGE))
RESULTS = Path(__file__).parent / "quantiles.json"
PAGE = Path(__file__).parents[1] / "docs" / "flagship.md"
PLACE = re.compile(r"(?<=<!-- quantiles -->\n).*(?=<!-- end of quantiles -->)", re.DOTALL)


def measure(name: str, seed: int) -> dict[str, Any]:
    """Pinball losses over that of the best constant, and the coverage and width of intervals."""
    data = datasets.load(name)
    X, y = pd.DataFrame(data.X), np.asarray(data.y, float)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    coded = X.apply(lambda c: c if pd.api.types.is_numeric_dtype(c) else pd.factorize(c)[0])
    shared = {"schema": data.schema, "random_state": seed}

    def predicted(q: float) -> dict[str, Any]:
        asked = {"loss": "quantile", "quantile": q}
        rival = HistGradientBoostingRegressor(**asked, random_state=seed)
        forests = {
            "private": PrivateForestRegressor(epsilon=EPSILON, **asked, **shared),
            "without noise": PrivateForestRegressor(epsilon=math.inf, **asked, **shared),
        }
        rows, target = X.iloc[train], y[train]
        found = {n: f.fit(rows, target).predict(X.iloc[test]) for n, f in forests.items()}
        found["scikit-learn"] = rival.fit(coded.iloc[train], target).predict(coded.iloc[test])
        return found | {"constant": np.full(len(test), np.quantile(target, q))}

    losses = {}
    for q in QUANTILES:
        each = {n: mean_pinball_loss(y[test], p, alpha=q) for n, p in predicted(q).items()}
        losses[f"{q:g}"] = {n: loss / each["constant"] for n, loss in each.items()}
    intervals = {
        name: PrivateIntervalRegressor(coverage=COVERAGE, epsilon=epsilon, **shared)
        .fit(X.iloc[train], y[train])
        .predict_interval(X.iloc[test])
        for name, epsilon in (("private", EPSILON), ("without noise", math.inf))
    }
    rivals = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed)
        .fit(coded.iloc[train], y[train])
        .predict(coded.iloc[test])
        for q in ENDS
    ]
    intervals["scikit-learn"] = np.sort(np.column_stack(rivals), axis=1)
    intervals["constant"] = np.tile(np.quantile(y[train], ENDS), (len(test), 1))
    widest = np.diff(intervals["constant"][0])[0]
    return {
        "pinball": losses,
        "coverage": {n: float(_inside(y[test], ends).mean()) for n, ends in intervals.items()},
        "width": {n: float(np.diff(ends).mean() / widest) for n, ends in intervals.items()},
    }


def _inside(y: Any, ends: Any) -> Any:
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


def page(results: dict[str, list[dict[str, Any]]]) -> str:
    """The figures as a table."""
    kinds = ("private", "without noise", "scikit-learn")
    lines = [
        f"| | epsilon = {EPSILON:g} | epsilon = inf | scikit-learn, not private |",
        "|---|---|---|---|",
    ]
    for name, runs in results.items():
        for q in runs[0]["pinball"]:
            means = [np.mean([run["pinball"][q][kind] for run in runs]) for kind in kinds]
            cells = " | ".join(f"{mean:.2f}" for mean in means)
            lines.append(f"| {name}, quantile {q} | {cells} |")
        figures = [
            [np.mean([run[what][kind] for run in runs]) for what in ("coverage", "width")]
            for kind in kinds
        ]
        cells = " | ".join(f"{held:.1%} held, width {width:.2f}" for held, width in figures)
        lines.append(f"| {name}, interval of {COVERAGE:.0%} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, keep the figures, and write them into the page."""
    results = {}
    for name in NAMES:
        results[name] = [measure(name, seed) for seed in SEEDS]
        print(page({name: results[name]}), flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(PLACE.sub(lambda _: page(results), PAGE.read_text()))


if __name__ == "__main__":
    main()

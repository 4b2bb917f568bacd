"""Targets whose declared bounds are far too wide: what does a regressor lose?

``DPFOREST_DATA=folder python -m benchmarks.wide_bounds`` widens the bounds of a target on both
sides and fits the flagship with its defaults at epsilon 1 to 2,000 records, everything paid for;
mean R2 of five draws on 3,000 other records. The page of the flagship gets the table.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dpforest import PrivateForestRegressor, Schema, Target, datasets

TABLES = ("abalone", "california_housing", "delta_elevators", "kc_house")
DELTAS = (1e-6, 0.0)
TIMES = (1.0, 1e2, 1e4, 1e6)
DRAWS, RECORDS, TEST = 5, 2_000, 3_000
PAGE = Path(__file__).parents[1] / "docs" / "flagship.md"
PLACE = re.compile(r"(?<=<!-- wide bounds -->\n).*(?=<!-- end of wide bounds -->)", re.DOTALL)


def measure(name: str, delta: float, times: float) -> float:
    """The mean R2 where bounds are so many times as wide."""
    data = datasets.load(name)
    low, high = data.schema.target_bounds
    middle, reach = (low + high) / 2, times * (high - low) / 2
    schema = Schema(data.schema.features, Target(low=middle - reach, high=middle + reach))
    X, y = data.X[list(schema.feature_names)], np.asarray(data.y, float)
    scores = []
    for seed in range(DRAWS):
        drawn = np.random.default_rng(seed).permutation(len(y))
        train, test = drawn[:RECORDS], drawn[RECORDS : RECORDS + TEST]
        model = PrivateForestRegressor(delta=delta, schema=schema, random_state=seed)
        model.fit(X.iloc[train], y[train])
        scores.append(model.score(X.iloc[test], y[test]))
    return float(np.mean(scores))


def main() -> None:
    """Measure, print, and write the table into the page."""
    heads = " | ".join(f"{times:,.0f} times" if times > 1 else "as declared" for times in TIMES)
    lines = [f"| | delta | {heads} |", "|---" * (2 + len(TIMES)) + "|"]
    for name in TABLES:
        for delta in DELTAS:
            cells = " | ".join(f"{measure(name, delta, times):.2f}" for times in TIMES)
            lines.append(f"| `{name}` | {delta:g} | {cells} |")
            print(lines[-1], flush=True)
    PAGE.write_text(PLACE.sub(lambda _: "\n".join([*lines, ""]), PAGE.read_text()))


if __name__ == "__main__":
    main()

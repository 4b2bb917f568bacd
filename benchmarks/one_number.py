"""Regressors with hardly any signal: how far below the mean of all targets may they fall?

``DPFOREST_DATA=folder python -m benchmarks.one_number`` draws a few hundred records of six tables,
fits the flagship with its defaults at small epsilons, and looks at R2 on 3,000 other records; mean
of eight draws, everything paid for. The page of small data gets the lowest table's mean, and the
mean of all.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from dpforest import LittleSignalWarning, PrivateForestRegressor, datasets

TABLES = ("abalone", "california_housing", "cpu_act", "delta_elevators", "kc_house", "parkinsons")
SETTINGS = ((100, 0.1), (100, 0.5), (200, 0.3), (300, 0.1), (600, 0.1))
DRAWS, TEST = 8, 3_000
PAGE = Path(__file__).parents[1] / "docs" / "small-data.md"
PLACE = re.compile(r"(?<=<!-- one number -->\n).*(?=<!-- end of one number -->)", re.DOTALL)


def measure(name: str, n: int, epsilon: float) -> float:
    """The mean R2 of a table, on records that were not learnt from."""
    data = datasets.load(name)
    y, scores = np.asarray(data.y, float), []
    for seed in range(DRAWS):
        drawn = np.random.default_rng(seed).permutation(len(y))
        train, test = drawn[:n], drawn[n : n + TEST]
        model = PrivateForestRegressor(epsilon=epsilon, schema=data.schema, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LittleSignalWarning)
            model.fit(data.X.iloc[train], y[train])
        scores.append(model.score(data.X.iloc[test], y[test]))
    return float(np.mean(scores))


def main() -> None:
    """Measure, print, and write the table into the page."""
    lines = ["| records | epsilon | lowest | mean |", "|---|---|---|---|"]
    for n, epsilon in SETTINGS:
        found = {name: measure(name, n, epsilon) for name in TABLES}
        lowest = min(found, key=found.__getitem__)
        mean = np.mean(list(found.values()))
        lines.append(f"| {n} | {epsilon:g} | {found[lowest]:.2f} (`{lowest}`) | {mean:.2f} |")
        print(lines[-1], flush=True)
    PAGE.write_text(PLACE.sub(lambda _: "\n".join([*lines, ""]), PAGE.read_text()))


if __name__ == "__main__":
    main()

"""Regressors with hardly any signal: how far below the mean of all targets may they fall?

``DPFOREST_DATA=folder python -m benchmarks.one_number`` draws a few hundred records of some tables,
where the flagship is one number at small epsilons, and looks at R2 on all other records. Mean of
eight draws of the records, and of all that the private choice of the number may come to, each by
its probability: a choice that is seldom far off is seen in no few fits. The page of small data gets
the lowest table's mean, the mean of all, and the median of fits.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpforest import datasets
from dpforest.forests.base import COUNT_SHARE
from dpforest.forests.one_number import is_for_one_number
from dpforest.forests.purse import Purse
from dpforest.forests.two_ways import PART_OF_A_CHOICE
from dpforest.privacy.accounts.accounting import pure_beside
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.number_choice import cells, depths, measure

TABLES = ("abalone", "california_housing", "cpu_act", "delta_elevators", "kc_house", "parkinsons")
SETTINGS = ((100, 0.1), (100, 0.5), (150, 0.5), (200, 0.3), (300, 0.1), (600, 0.1), (1_000, 0.1))
DRAWS = 8
PAGE = Path(__file__).parents[1] / "docs" / "small-data.md"
PLACE = re.compile(r"(?<=<!-- one number -->\n).*(?=<!-- end of one number -->)", re.DOTALL)


class Found(NamedTuple):
    """R2 of a table: the mean over all choices, and the median."""

    mean: float
    median: float


def measured(name: str, n: int, epsilon: float) -> Found:
    """The R2 of a median that is chosen at what a noisy count leaves."""
    data = datasets.load(name)
    y, edges = np.asarray(data.y, float), cells(*data.schema.target_bounds)
    purse = Purse(epsilon, 1e-6)
    assert is_for_one_number(purse, n, 1)
    count = purse.price(COUNT_SHARE)
    assert isinstance(count, Gaussian)
    rest = float(PART_OF_A_CHOICE) * purse.delta
    rate = float(pure_beside(count.mu, Fraction(str(epsilon)), rest, (Fraction(1),)))
    middles = (edges[:-1] + edges[1:]) / 2
    means, medians = [], []
    for seed in range(DRAWS):
        drawn = np.random.default_rng(seed).permutation(len(y))
        train, test = y[drawn[:n]], y[drawn[n:]]
        counts = np.bincount(np.searchsorted(edges[1:-1], train), minlength=len(middles))
        logarithms = np.log(measure(edges)) + rate * depths(counts)
        law = np.exp(logarithms - logarithms.max())
        law /= law.sum()
        r2 = -((middles - test.mean()) ** 2) / test.var()
        means.append(law @ r2)
        order = np.argsort(r2)
        medians.append(r2[order][np.searchsorted(np.cumsum(law[order]), 0.5)])
    return Found(float(np.mean(means)), float(np.mean(medians)))


def main() -> None:
    """Measure, print, and write the table into the page."""
    lines = ["| records | epsilon | lowest | mean | median |", "|---" * 5 + "|"]
    for n, epsilon in SETTINGS:
        found = {name: measured(name, n, epsilon) for name in TABLES}
        lowest = min(found, key=lambda name: found[name].mean)
        mean, median = np.mean(list(found.values()), axis=0)
        row = f"{found[lowest].mean:.2f} (`{lowest}`) | {mean:.2f} | {median:.2f}"
        lines.append(f"| {n} | {epsilon:g} | {row} |")
        print(lines[-1], flush=True)
    PAGE.write_text(PLACE.sub(lambda _: "\n".join([*lines, ""]), PAGE.read_text()))


if __name__ == "__main__":
    main()

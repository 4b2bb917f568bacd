"""Run the speed benchmarks and print a table: ``python -m benchmarks.speed [family ...]``."""

import sys

from rich.console import Console
from rich.table import Table

from benchmarks.speed import (
    boosted_forest,
    greedy_forest,
    matrix_forest,
    median_forest,
    random_forest,
)

FAMILIES = {
    "boosted": boosted_forest.measure,
    "random": random_forest.measure,
    "matrix": matrix_forest.measure,
    "median": median_forest.measure,
    "greedy": greedy_forest.measure,
}


def main(names: list[str]) -> None:
    table = Table("family", "what", "measured", "bar", "met")
    for name in names or FAMILIES:
        for row in FAMILIES[name]():
            table.add_row(name, row.what, row.measured, row.bar, "yes" if row.met else "NO")
    Console(width=120).print(table)


main(sys.argv[1:])

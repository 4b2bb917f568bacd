"""Run the speed benchmarks and print a table: ``python -m benchmarks.speed [family ...]``."""

import argparse

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("family", nargs="*", help=f"of {', '.join(FAMILIES)}; all when none")
    names = parser.parse_args().family or list(FAMILIES)
    if unknown := set(names) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    table = Table("family", "what", "measured", "bar", "met")
    for name in names:
        for row in FAMILIES[name]():
            table.add_row(name, row.what, row.measured, row.bar, "yes" if row.met else "NO")
    Console(width=120).print(table)


main()

"""Measured cells, one CSV file a method group; a cell that is there is not measured again."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

FOLDER = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Cell:
    """One method on one split at one epsilon (inf: not private)."""

    dataset: str
    method: str
    epsilon: float
    seed: int


@dataclass(frozen=True)
class Result(Cell):
    """A cell with its score (accuracy, or mean squared error) and the time of fit + predict."""

    score: float
    seconds: float

    @property
    def cell(self) -> Cell:
        return Cell(self.dataset, self.method, self.epsilon, self.seed)


def read(group: str = "*", folder: Path | None = None) -> Iterator[Result]:
    """Return the results of one group, or of all."""
    for path in sorted((folder or FOLDER).glob(f"{group}.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                yield Result(
                    dataset=row["dataset"],
                    method=row["method"],
                    epsilon=float(row["epsilon"]),
                    seed=int(row["seed"]),
                    score=float(row["score"]),
                    seconds=float(row["seconds"]),
                )


def append(group: str, result: Result, folder: Path | None = None) -> None:
    """Write one result at once, so that an interrupted run loses nothing."""
    path = (folder or FOLDER) / f"{group}.csv"
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow([field.name for field in fields(Result)])
        writer.writerow(astuple(result))


def forget(group: str, unwanted: Callable[[Result], bool], folder: Path | None = None) -> None:
    """Leave these results out, so that they are measured anew."""
    kept = [result for result in read(group, folder) if not unwanted(result)]
    with ((folder or FOLDER) / f"{group}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Result)])
        writer.writerows(map(astuple, kept))

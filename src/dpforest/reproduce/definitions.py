"""What a paper's table is: data, read from a file in ``tables/``.

A file describes a paper and its tables in TOML: the fits (an estimator, its parameters and the
columns read off it), the grid, the rows (a data set each) and the published values. The harness
needs nothing else; a new paper is a new file.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Literal

Settings = Mapping[str, Any]
Grid = Mapping[str, tuple[Any, ...]]
Metric = Literal["error", "accuracy", "mse"]

QUICK_SEEDS = 2
QUICK_VALUES = 3


@dataclass(frozen=True)
class Published:
    """A published value and the settings it was reached with, as far as they are known.

    ``deviation`` is the published standard deviation; a value that much worse still counts as
    reproduced.
    """

    value: float
    settings: Settings
    deviation: float = 0.0


@dataclass(frozen=True)
class Fit:
    """An estimator to fit, and the columns of the table to read off it.

    Parameters
    ----------
    name : str
    estimator : str
        ``module:Class``, or ``dpforest.literature:name`` for a recipe.
    parameters : dict
        Parameters beside those of the grid. A text ``"1000/n_train"`` stands for that many
        divided by the number of training records.
    columns : dict
        For each column, further parameters of the fit. Only the first column is fitted; the
        others are read off the same fit by the estimator's ``revote``.
    beside : dict
        For a column that the paper does not have, the column to show it beside.
    """

    name: str
    estimator: str
    parameters: Settings
    columns: Mapping[str, Settings]
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A data set, the settings to try on it, and what the paper reports.

    Parameters
    ----------
    label, dataset : str
    positive : str, optional
        Two classes: this one against the rest.
    grid : dict
        For each parameter, the values to try.
    published : dict
        By column.
    slow : bool
        Left out by ``quick``.
    unavailable : str
        Why the row cannot be run; empty when it can.
    """

    label: str
    dataset: str
    positive: str | None
    grid: Grid
    published: Mapping[str, Published]
    slow: bool
    unavailable: str

    def settings(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True)
class PaperTable:
    """One table of a paper.

    Parameters
    ----------
    number : int
    title, note : str
    metric : {"error", "accuracy", "mse"}
        Error and accuracy in per cent.
    test_share : float
        The share of records kept for testing.
    seeds : int
        Runs to average over, each with its own split, structure and noise.
    tolerance : float
        How much worse than the published value still counts as reproduced.
    fits, rows
    """

    number: int
    title: str
    note: str
    metric: Metric
    test_share: float
    seeds: int
    tolerance: float
    fits: tuple[Fit, ...]
    rows: tuple[Row, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, fit by fit."""
        return tuple(column for fit in self.fits for column in fit.columns)

    def published(self, row: Row, column: str) -> Published | None:
        """What the paper reports for a column, or for the one that it stands beside."""
        beside = {c: other for fit in self.fits for c, other in fit.beside.items()}
        return row.published.get(beside.get(column, column))

    def allowed(self, published: Published) -> float:
        """How much worse than this figure still counts as reproduced."""
        return max(self.tolerance, published.deviation)

    def quick(self) -> PaperTable:
        """A thinner grid, fewer seeds, and no slow rows: to see that things work."""
        rows = tuple(_thin(row) for row in self.rows)
        return replace(self, seeds=min(self.seeds, QUICK_SEEDS), rows=rows)


@dataclass(frozen=True)
class Paper:
    """A paper and its tables; ``document`` is its number among the project's documents."""

    name: str
    document: str
    title: str
    tables: tuple[PaperTable, ...]


def papers() -> dict[str, Paper]:
    """The papers with tables to reproduce, by name.

    Examples
    --------
    >>> from dpforest import reproduce
    >>> reproduce.papers()["bojarski"].tables[0].columns
    ('n-dpRFMV', 'n-dpRFTA', 'dpRFMV', 'dpRFTA', 'dpRFMV-label')
    """
    folder = resources.files("dpforest.reproduce") / "tables"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    found = [parse_paper(file.read_text(encoding="utf-8")) for file in files]
    return {paper.name: paper for paper in found}


def find_paper(name: str) -> Paper:
    """The paper of that name or document number; ValueError naming those there are."""
    known = papers()
    for paper in known.values():
        if name.lower() in (paper.name, paper.document):
            return paper
    listed = ", ".join(f"{paper.name} ({paper.document})" for paper in known.values())
    raise ValueError(f"no tables of paper {name!r}: choose one of {listed}")


def parse_paper(text: str) -> Paper:
    """Read a paper's file."""
    content = tomllib.loads(text)
    tables = tuple(_parse_table(table) for table in content["table"])
    return Paper(content["name"], content["document"], content["title"], tables)


def _parse_table(content: dict[str, Any]) -> PaperTable:
    fits = tuple(Fit(**fit) for fit in content["fit"])
    columns = {column for fit in fits for column in fit.columns}
    rows = tuple(_parse_row(row, content["grid"], columns) for row in content["row"])
    return PaperTable(
        number=content["number"],
        title=content["title"],
        note=" ".join(content["note"].split()),
        metric=content["metric"],
        test_share=content["test_share"],
        seeds=content["seeds"],
        tolerance=content["tolerance"],
        fits=fits,
        rows=rows,
    )


def _parse_row(content: dict[str, Any], grid: dict[str, Any], columns: set[str]) -> Row:
    published = {}
    for column, entry in content["published"].items():
        if column not in columns:
            raise ValueError(f"row {content['label']!r} reports {column!r}, which no fit gives")
        known = ("value", "deviation")
        settings = {name: value for name, value in entry.items() if name not in known}
        deviation = float(entry.get("deviation", 0.0))
        published[column] = Published(float(entry["value"]), settings, deviation)
    return Row(
        label=content["label"],
        dataset=content.get("dataset", content["label"]),
        positive=content.get("positive"),
        grid={name: tuple(values) for name, values in (grid | content.get("grid", {})).items()},
        published=published,
        slow=content.get("slow", False),
        unavailable=content.get("unavailable", ""),
    )


def _thin(row: Row) -> Row:
    reason = "left out of a quick run" if row.slow else ""
    grid = {name: _some(values) for name, values in row.grid.items()}
    return replace(row, grid=grid, unavailable=row.unavailable or reason)


def _some(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """At most `QUICK_VALUES` of the values, evenly spread, the last among them."""
    n = min(len(values), QUICK_VALUES)
    return tuple(values[len(values) * (i + 1) // n - 1] for i in range(n))

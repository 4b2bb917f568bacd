"""From the values of cells to a table beside the published one."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from dpforest.reproduce.cache import Figures
from dpforest.reproduce.cells import cells_of
from dpforest.reproduce.definitions import PaperTable, Published, Row, Settings


@dataclass(frozen=True)
class Found:
    """Our best setting: its mean over the seeds, the standard error of that, and the setting."""

    value: float
    standard_error: float
    settings: Settings


@dataclass(frozen=True)
class Entry:
    """One figure of the table: ours, where the row was run, and the published one, if any."""

    row: str
    column: str
    found: Found | None
    published: Published | None
    reproduced: bool | None

    @property
    def difference(self) -> float | None:
        """Ours less the published value."""
        if self.found is None or self.published is None:
            return None
        return self.found.value - self.published.value


@dataclass(frozen=True)
class Result:
    """A table that was run."""

    table: PaperTable
    entries: tuple[Entry, ...]

    @property
    def reproduced(self) -> bool:
        """Whether every figure that was run is as good as published, within the tolerance."""
        return all(entry.reproduced is not False for entry in self.entries)


def summarise(table: PaperTable, values: Mapping[str, Figures]) -> Result:
    """Choose, for each row and column, the setting with the best mean over the seeds.

    The choice looks at the test records, as the papers' does.

    Parameters
    ----------
    table : PaperTable
    values : mapping
        The values of every cell, by its key.
    """
    entries = []
    for row in table.rows:
        best = _best(table, row, values)
        for column in table.columns:
            found, published = best.get(column), table.published(row, column)
            entries.append(
                Entry(row.label, column, found, published, _reproduced(table, found, published))
            )
    return Result(table, tuple(entries))


def _best(table: PaperTable, row: Row, values: Mapping[str, Figures]) -> dict[str, Found]:
    runs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    settings_by_name: dict[str, Settings] = {}
    for settings, cell in cells_of(table, row):
        name = repr(settings)
        settings_by_name[name] = settings
        for column, value in values[cell.key].items():
            runs[column][name].append(value)
    choose = max if table.metric == "accuracy" else min
    best = {}
    for column, by_setting in runs.items():
        means = {name: statistics.fmean(series) for name, series in by_setting.items()}
        name = choose(means, key=means.__getitem__)
        best[column] = Found(means[name], _error(by_setting[name]), settings_by_name[name])
    return best


def _error(series: list[float]) -> float:
    """The standard error of the mean; 0 for a single run."""
    return statistics.stdev(series) / len(series) ** 0.5 if len(series) > 1 else 0.0


def _reproduced(table: PaperTable, found: Found | None, published: Published | None) -> bool | None:
    if found is None or published is None:
        return None
    worse = found.value - published.value
    return (-worse if table.metric == "accuracy" else worse) <= table.allowed(published)

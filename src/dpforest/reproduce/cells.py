"""A cell: one fit on one split with one setting, and the figures read off it."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpforest
from dpforest import literature
from dpforest.reproduce.cache import Figures
from dpforest.reproduce.data import Split, split
from dpforest.reproduce.definitions import Fit, Metric, PaperTable, Row, Settings

OVER_RECORDS = re.compile(r"([0-9.]+)/n_train")


@dataclass(frozen=True)
class Cell:
    """All that decides the figures of a cell; its key is a digest of it."""

    dataset: str
    positive: str | None
    test_share: float
    metric: Metric
    seed: int
    estimator: str
    parameters: Settings
    columns: dict[str, Settings]

    @property
    def key(self) -> str:
        """A digest of the cell and of the version of dpforest."""
        text = json.dumps({**asdict(self), "version": dpforest.__version__}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def cells_of(table: PaperTable, row: Row) -> list[tuple[dict[str, Any], Cell]]:
    """The cells of a row with their settings, those of one split side by side."""
    if row.unavailable:
        return []
    return [
        (settings, _cell(table, row, fit, settings, seed))
        for seed in range(table.seeds)
        for settings in row.settings()
        for fit in table.fits
    ]


def run_cell(cell: Cell) -> Figures:
    """Fit once, on one thread, voting as the first column says; the others vote anew."""
    parts = split(cell.dataset, cell.positive, cell.test_share, cell.seed)
    estimator = _new_estimator(cell.estimator, parts)
    parameters = _parameters(cell, parts, estimator.get_params())
    values: Figures = {}
    for column, voting in cell.columns.items():
        if values:
            estimator.revote(**voting)
        else:
            estimator.set_params(**parameters, **voting).fit(parts.train.X, parts.train.y)
        values[column] = measure(cell.metric, parts.test.y, estimator.predict(parts.test.X))
    return values


def _new_estimator(path: str, parts: Split) -> Any:
    module, name = path.split(":")
    if module == "dpforest.literature":
        return literature.make(name, schema=parts.train.schema)
    return getattr(importlib.import_module(module), name)()


def measure(metric: Metric, truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    """The figure of a table: error and accuracy in per cent, squared error times 1000.

    Examples
    --------
    >>> measure("error", np.array([1, 0, 0, 1]), np.array([1, 1, 0, 1]))
    25.0
    """
    if metric == "mse":
        return 1000.0 * float(np.mean((truth - predicted) ** 2))
    wrong = 100.0 * float(np.mean(truth != predicted))
    return wrong if metric == "error" else 100.0 - wrong


def _cell(table: PaperTable, row: Row, fit: Fit, settings: dict[str, Any], seed: int) -> Cell:
    return Cell(
        dataset=row.dataset,
        positive=row.positive,
        test_share=table.test_share,
        metric=table.metric,
        seed=seed,
        estimator=fit.estimator,
        parameters={**settings, **fit.parameters},
        columns=dict(fit.columns),
    )


def _parameters(cell: Cell, parts: Split, known: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the fit, and those every estimator is given if it knows them."""
    given = {"schema": parts.train.schema, "random_state": cell.seed, "n_jobs": 1}
    chosen = {name: value for name, value in given.items() if name in known}
    for name, value in cell.parameters.items():
        rule = OVER_RECORDS.fullmatch(value) if isinstance(value, str) else None
        chosen[name] = float(rule[1]) / len(parts.train.y) if rule else value
    return chosen

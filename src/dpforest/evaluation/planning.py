"""What to expect of a fit before anything is spent: simulated on synthetic tables of a shape."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from dpforest.datasets.truths import TRUTHS, Truth
from dpforest.exceptions import LittleSignalWarning, SchemaError, WeakGuaranteeWarning
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.boosted import PrivateForestClassifier, PrivateForestRegressor
from dpforest.progress import Bar
from dpforest.schema import Schema

EPSILONS = (0.1, 0.5, 1.0, 2.0)
TEST_ROWS = 2_000
BASELINE, NOT_PRIVATE = "knows no feature", "not private"


@dataclass(frozen=True)
class Spread:
    """The least, the middle and the largest score of some simulated fits."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> Spread:
        """Of some scores."""
        return cls(float(min(scores)), float(np.median(scores)), float(max(scores)))

    def __str__(self) -> str:
        """The middle, and the range."""
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Forecast:
    """What to expect; made by `plan`.

    Parameters
    ----------
    metric : str
        "accuracy" or "R2", of fresh records.
    n_records : int
    rows : dict
        By model, the one that knows no feature first and the one without privacy last; then by
        truth, and "all" of them together.
    """

    metric: str
    n_records: int
    rows: dict[str, dict[str, Spread]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The truths, and all together."""
        return tuple(next(iter(self.rows.values())))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form."""
        rows = {
            model: {truth: asdict(spread) for truth, spread in row.items()}
            for model, row in self.rows.items()
        }
        return {"metric": self.metric, "n_records": self.n_records, "rows": rows}

    def __str__(self) -> str:
        """A table of the medians, and the range of all."""
        lines = [["model", *self.columns[:-1], "all (least to most)"]]
        for model, row in self.rows.items():
            medians = [f"{row[truth].median:.2f}" for truth in self.columns[:-1]]
            lines.append([model, *medians, str(row["all"])])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        title = f"{self.metric} on fresh records of synthetic tables, {self.n_records:,} records"
        return "\n".join([title, *padded])


def plan(
    schema: Schema,
    n_records: int,
    epsilons: Sequence[float] = EPSILONS,
    *,
    estimator: PrivateEstimator | None = None,
    n_seeds: int = 3,
    random_state: int = 0,
    tick: Callable[[], object] | None = None,
) -> Forecast:
    """Simulate what fits of a shape and a size come to, before anything is spent; free.

    Tables are drawn from the schema alone, with truths from weak to strong, sums of features and
    products of them. Your data is none of these: read the spread, not the middle.

    Parameters
    ----------
    schema : Schema
        Features and target.
    n_records : int
        A public guess of the number of records.
    epsilons : sequence of float, default=(0.1, 0.5, 1.0, 2.0)
    estimator : estimator, optional
        With its parameters; the flagship by default. Its epsilon and schema are replaced.
    n_seeds : int, default=3
        Tables of each truth.
    random_state : int, default=0
    tick : callable, optional
        Called after each fit, in place of a bar for who watches: ``len(epsilons) + 1`` fits for
        each of five truths and each seed.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> from dpforest import datasets, plan
    >>> schema = datasets.make_census(10, random_state=0).schema
    >>> found = plan(schema, 500, [0.01, 10.0], n_seeds=1)
    >>> found.rows["epsilon = 0.01"]["strong sum"].median < 0.8
    True
    >>> found.rows["epsilon = 10"]["strong sum"].median > 0.75
    True
    """
    if schema.target is None:
        raise SchemaError("the schema declares no target: add Target(classes=...) or bounds")
    if n_records < 1 or n_seeds < 1 or not epsilons:
        raise ValueError("plan needs at least one record, one epsilon and one seed")
    has_classes = schema.target.classes is not None
    model = estimator or (PrivateForestClassifier() if has_classes else PrivateForestRegressor())
    names = [f"epsilon = {epsilon:g}" for epsilon in epsilons]
    models = dict(zip(names, epsilons, strict=True)) | {NOT_PRIVATE: math.inf}
    scores: dict[str, dict[str, list[float]]] = {
        name: {truth.name: [] for truth in TRUTHS} for name in (BASELINE, *models)
    }
    with Bar("simulating", len(TRUTHS) * n_seeds * len(models), alone=True) as bar:
        for number, truth in enumerate(TRUTHS):
            for seed in range(n_seeds):
                world = _World(truth, schema, n_records, (random_state, number, seed))
                scores[BASELINE][truth.name].append(world.baseline())
                for name, epsilon in models.items():
                    scores[name][truth.name].append(world.score(model, epsilon))
                    (tick or bar.advance)()
    rows = {
        name: {truth: Spread.of(found) for truth, found in by_truth.items()}
        | {"all": Spread.of([score for found in by_truth.values() for score in found])}
        for name, by_truth in scores.items()
    }
    return Forecast("accuracy" if has_classes else "R2", n_records, rows)


class _World:
    """A synthetic table, and fresh records of the same truth."""

    def __init__(self, truth: Truth, schema: Schema, n: int, seed: tuple[int, ...]) -> None:
        rng = np.random.default_rng(seed)
        self._schema = schema
        self._seed = int(rng.integers(1 << 30))
        X, y = truth.draw(schema, n + TEST_ROWS, rng)
        self._train, self._test = (X[:n], y[:n]), (X[n:], y[n:])

    def baseline(self) -> float:
        """The score of the most frequent class, or of the mean."""
        y, fresh = self._train[1], self._test[1]
        if self._schema.target is not None and self._schema.target.classes is None:
            return 0.0
        values, counts = np.unique(y, return_counts=True)
        return float((fresh == values[counts.argmax()]).mean())

    def score(self, estimator: PrivateEstimator, epsilon: float) -> float:
        """The score of a fit."""
        model: PrivateEstimator = clone(estimator)
        model.set_params(schema=self._schema, epsilon=epsilon, random_state=self._seed)
        with warnings.catch_warnings():
            for category in (LittleSignalWarning, WeakGuaranteeWarning):
                warnings.simplefilter("ignore", category)
            return float(model.fit(*self._train).score(*self._test))

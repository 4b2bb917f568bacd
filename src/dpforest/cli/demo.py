"""The demonstration: what privacy costs on a synthetic census, and the ledger of one forest."""

import math
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table
from sklearn.ensemble import ExtraTreesClassifier

from dpforest.datasets import Dataset, make_census
from dpforest.forests.boosted import PrivateForestClassifier
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.progress import Bar
from dpforest.report import Report
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
SHOWN = 1.0
TEST_ROWS = 20_000
REPEATS = 3


@dataclass(frozen=True)
class Row:
    """A line of the table: a model, its mean accuracy on fresh rows, seconds to fit and score."""

    model: str
    accuracy: float
    seconds: float | None = None


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    n_rows: int
    rows: tuple[Row, ...]
    forest: PrivateForestClassifier

    @property
    def ledger(self) -> Ledger:
        """What the forest that is shown has spent."""
        return self.forest.ledger_

    def report(self) -> Report:
        """Make the report of the forest, evaluated on people drawn apart."""
        from dpforest.evaluation import evaluate

        test = make_census(min(self.n_rows, TEST_ROWS), random_state=1)
        return self.forest.report(evaluation=evaluate(self.forest, test.X, test.y, epsilon=0.5))

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracies and the ledger for machines."""
        rows = [asdict(row) for row in self.rows]
        return {"rows": self.n_rows, "models": rows, "ledger": self.ledger.to_dict()}

    def title(self) -> str:
        """Say what was trained on what."""
        on = f"on a synthetic census of {self.n_rows:,} people, means of {REPEATS} fits"
        return f"PrivateForestClassifier, delta = {self.ledger.delta:g},\n{on}"

    def table(self) -> Table:
        """Return the accuracies as a table for the terminal."""
        table = Table()
        table.add_column("model")
        table.add_column("test accuracy", justify="right")
        table.add_column("fit and score, s", justify="right")
        for row in self.rows:
            seconds = "" if row.seconds is None else f"{row.seconds:.2f}"
            table.add_row(row.model, f"{row.accuracy:.3f}", seconds)
        return table


def run(n_rows: int, random_state: int | None) -> Demo:
    """Train at several epsilons and without privacy; test on people drawn apart."""
    train, test = (
        make_census(n_rows, random_state=0),
        make_census(min(n_rows, TEST_ROWS), random_state=1),
    )
    # Compiling happens once after an install and is no part of the fitting times.
    few = make_census(100, random_state=2)
    PrivateForestClassifier(schema=few.schema).fit(few.X, few.y)
    majority = Counter(train.y.tolist()).most_common(1)[0][0]
    rows = [Row("majority class", float(np.mean(test.y == majority)))]
    epsilons = (*EPSILONS, math.inf)
    with Bar("training", len(epsilons) * REPEATS, alone=True) as bar:
        for epsilon in epsilons:
            accuracies, start = [], time.perf_counter()
            for repeat in range(REPEATS):
                seed = None if random_state is None else random_state + repeat
                model = PrivateForestClassifier(
                    epsilon=epsilon, schema=train.schema, random_state=seed
                )
                accuracies.append(model.fit(train.X, train.y).score(test.X, test.y))
                bar.advance()
            label = f"epsilon = {epsilon:g}" + (" (no noise)" if math.isinf(epsilon) else "")
            seconds = (time.perf_counter() - start) / REPEATS
            rows.append(Row(label, float(np.mean(accuracies)), seconds))
            if epsilon == SHOWN:
                shown = model
    rows.append(_not_private(train, test))
    return Demo(n_rows, tuple(rows), shown)


def _not_private(train: Dataset, test: Dataset) -> Row:
    """Train scikit-learn's forest on the same bins: what a model without privacy reaches."""
    encoding = Encoding.from_schema(train.schema)
    forest = ExtraTreesClassifier(n_estimators=100, min_samples_leaf=5, random_state=0)
    start = time.perf_counter()
    forest.fit(encoding.bins(Frame(train.X)), train.y)
    accuracy = float(forest.score(encoding.bins(Frame(test.X)), test.y))
    seconds = time.perf_counter() - start
    return Row("scikit-learn ExtraTrees, not private", accuracy, seconds)

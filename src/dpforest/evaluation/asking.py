"""What an evaluation asks at the desk, for which shares of its budget, and what follows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpforest.evaluation import numbers, scores
from dpforest.evaluation.figures import Counted, Figure, Level, share
from dpforest.evaluation.results import Evaluation
from dpforest.privacy import outcome_cells as cells
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.prices import price_of_share
from dpforest.privacy.accounts.spends import Price, exact
from dpforest.privacy.counts import bin_counts, table_counts
from dpforest.privacy.desk import Desk
from dpforest.privacy.errors import error_sums
from dpforest.schema.categories import Category
from dpforest.tables.encode import Encoding

# Of the budget, chosen once: so that accuracy and area have about the same error, relatively.
SHARES = {
    "labels of two": {"confusion": Fraction(1)},
    "two": {"confusion": Fraction(3, 10), "own": Fraction(7, 10)},
    "labels of more": {"hits": Fraction(3, 10), "confusion": Fraction(7, 10)},
    "more": {
        "hits": Fraction(1, 10),
        "confusion": Fraction(2, 10),
        "own": Fraction(35, 100),
        "other": Fraction(35, 100),
    },
    "numbers": {"residuals": Fraction(4, 10), "sums": Fraction(6, 10)},
}


ASKED = {
    "confusion": ((cells.CLASS, cells.PREDICTED), "confusion matrix"),
    "hits": ((cells.HIT,), "hits and misses"),
    "own": ((cells.CLASS, cells.OWN), "scores of the true class"),
    "other": ((cells.OTHER_CLASS, cells.OTHER), "scores of another class"),
}


def ask_of_classes(
    desk: Desk,
    encoding: Encoding,
    classes: tuple[Category, ...],
    level: float,
    has_scores: bool,
) -> Evaluation:
    """Count the outcomes of a classifier in up to four tables; a record is in one cell of each."""
    found = {
        name: _ask(desk, encoding, name, price)
        for name, price in _prices(desk.ledger, _kind(len(classes), has_scores)).items()
    }
    result = _label_figures(desk.ledger, found, classes, level)
    return _with_scores(result, found) if has_scores else result


def _ask(desk: Desk, encoding: Encoding, name: str, price: Price) -> Counted:
    features, label = ASKED[name]
    released = table_counts(desk, encoding, features, price, label)
    # The last bin of a feature is that of missing values, which outcomes do not have.
    counts = released.values[(slice(-1),) * len(features)]
    alike = desk.ledger.protection.max_records_per_group
    return Counted(counts, released.deviation**2, alike)


def _kind(n_classes: int, has_scores: bool) -> str:
    if n_classes == 2:
        return "two" if has_scores else "labels of two"
    return "more" if has_scores else "labels of more"


def _with_scores(result: Evaluation, found: dict[str, Counted]) -> Evaluation:
    assert result.classes is not None
    width, classes = Level.of(result.level), result.classes
    if len(classes) == 2:
        table = scores.Scores.of_two(found["own"])
    else:
        table = scores.Scores(found["own"], found["other"], len(classes) - 1)
    curves = {classes[c]: scores.roc(table, c, width) for c in table.looked_at}
    return replace(
        result,
        scores=table,
        auc=scores.area(table, width),
        roc={label: curve for label, curve in curves.items() if curve is not None},
        calibration=scores.calibration(table, width),
        log_loss=scores.log_loss(table, width),
        brier=scores.brier(table, width),
    )


def _prices(ledger: Ledger, kind: str) -> dict[str, Price]:
    epsilon, delta = exact(ledger.budget_epsilon), float(ledger.budget_delta)
    return {name: price_of_share(epsilon, delta, part) for name, part in SHARES[kind].items()}


def _label_figures(
    ledger: Ledger, found: dict[str, Counted], classes: tuple[Category, ...], level: float
) -> Evaluation:
    """What follows from the confusion matrix, and from hits and misses where they were asked."""
    width, confusion = Level.of(level), found["confusion"]
    table, k = confusion.counts, len(classes)
    right = np.diagonal(table)
    missed, wrong = table.sum(axis=1) - right, table.sum(axis=0) - right
    hits = found.get("hits")
    if hits is None:
        all_right, all_wrong = right.sum(), missed.sum()
        accuracy = share(all_right, all_wrong, confusion, width, (k, k * (k - 1)))
        n, n_cells, noise = all_right + all_wrong, k * k, confusion.noise
    else:
        accuracy = share(hits.counts[1], hits.counts[0], hits, width, (1, 1))
        n, n_cells, noise = hits.counts.sum(), 2, hits.noise
    return Evaluation(
        ledger,
        level,
        n_records=width.around(n, 0.0, n_cells * noise, (0.0, math.inf)),
        classes=classes,
        accuracy=accuracy,
        confusion=_counted(confusion, width),
        precision=share(right, wrong, confusion, width, (1, k - 1)),
        recall=share(right, missed, confusion, width, (1, k - 1)),
        # 2 TP / (2 TP + FP + FN): a share in which a mistake counts one half.
        f1=share(right, (wrong + missed) / 2, confusion, width, (1, 2 * (k - 1)), times=0.5),
    )


def _counted(confusion: Counted, width: Level) -> Figure:
    """The released counts, below 0 or not, with an interval of the noise and of sampling."""
    counts = confusion.counts
    found = width.around(counts, confusion.alike * counts, np.full(counts.shape, confusion.noise))
    return Figure(counts, np.maximum(found.low, 0.0), np.maximum(found.high, 0.0))


def ask_of_numbers(
    desk: Desk, encoding: Encoding, bounds: tuple[float, float], level: float
) -> Evaluation:
    """Count residuals in public cells, then sum up errors, clipped where the counts say."""
    width, prices = Level.of(level), _prices(desk.ledger, "numbers")
    alike = desk.ledger.protection.max_records_per_group
    counted = bin_counts(desk, encoding, (0,), prices["residuals"], "histogram of residuals")
    histogram = counted.values[0, :-1]  # the last bin is that of missing values: there are none
    most = numbers.bound_of_errors(histogram, counted.deviation, bounds)
    released = error_sums(desk, bounds, most, prices["sums"])
    sums = numbers.Sums(released.values, released.deviation**2, alike, bounds, most)
    mse = numbers.squared_error(sums, histogram, width)
    return Evaluation(
        desk.ledger,
        level,
        n_records=width.around(sums.values[0], 0.0, sums.noise, (0.0, math.inf)),
        r2=numbers.r2(sums, mse, width),
        mse=mse,
        mae=numbers.mean_error(sums, width),
        residual_quantiles=numbers.residual_quantiles(
            histogram, counted.deviation, alike, bounds, width
        ),
        residual_bound=most,
        residuals=histogram,
    )

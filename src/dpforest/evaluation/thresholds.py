"""Choose the probability from which on a case counts as the second of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.evaluation.figures import UNIT, Counted, Figure, Level, share
from dpforest.evaluation.results import Evaluation
from dpforest.evaluation.scores import Scores, rates
from dpforest.privacy.outcome_cells import SCORE_CELLS, SCORE_EDGES


@dataclass(frozen=True)
class Threshold:
    """A threshold and what to expect of it; made by `tune_threshold`.

    Intervals hold for all thresholds at once, so also for the one that was chosen.

    Parameters
    ----------
    value : float
        Predict the second class where its probability is above this.
    recall, precision, accuracy : Figure
        Of the second class, at this threshold.
    false_positive_rate : Figure
        The share of the first class that is taken for the second.
    cost : Figure or None
        The mean cost of a record, where costs were given.
    """

    value: float
    recall: Figure
    precision: Figure
    accuracy: Figure
    false_positive_rate: Figure
    cost: Figure | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form."""
        figures = {name: part for name, part in vars(self).items() if isinstance(part, Figure)}
        return {"value": self.value} | {name: part.to_dict() for name, part in figures.items()}


def tune_threshold(
    evaluation: Evaluation,
    *,
    cost: tuple[float, float] | None = None,
    recall: float | None = None,
) -> Threshold:
    """Choose a threshold for two classes from the noisy histograms of an evaluation; free.

    Parameters
    ----------
    evaluation : Evaluation
        Of a model with two classes and probabilities.
    cost : tuple of float, optional
        What a false positive costs, and a false negative: the threshold of least cost is chosen.
    recall : float, optional
        The share of the second class to be found: the highest threshold that finds it is chosen.

    Returns
    -------
    Threshold
        One of the borders of the cells in which scores were counted.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, datasets, evaluate, tune_threshold
    >>> census = datasets.make_census(20_000, random_state=0)
    >>> train, test = slice(10_000), slice(10_000, None)
    >>> forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    >>> forest = forest.fit(census.X[train], census.y[train])
    >>> found = evaluate(forest, census.X[test], census.y[test], epsilon=0.5, random_state=0)
    >>> dear, cheap = tune_threshold(found, cost=(1, 5)), tune_threshold(found, cost=(5, 1))
    >>> dear.value < cheap.value
    True
    """
    table = evaluation.scores
    if table is None or not table.is_binary:
        raise ValueError(
            "thresholds are for two classes and a model with predict_proba: evaluate such a model"
        )
    if (cost is None) == (recall is None):
        raise ValueError(
            "give what to aim at: either cost=(false positive, false negative), or recall=..."
        )
    # All borders at once (Bonferroni), so that choosing the best one does not flatter it.
    width = Level.of(1 - (1 - evaluation.level) / (SCORE_CELLS + 1))
    if cost is not None:
        costs = _costs(table, cost, width)
        _refuse_unknown(costs.value)
        at = int(np.argmin(costs.value))
        return _threshold(table, at, width, costs[at])
    if recall is None or not 0 < recall <= 1:
        raise ValueError(f"recall is {recall!r}, expected a share above 0 and up to 1")
    found = rates(table.own, 1, width).value
    _refuse_unknown(found)
    return _threshold(table, _highest_with(found, recall), width)


def _refuse_unknown(figures: Any) -> None:
    if np.isnan(figures).any():
        raise ValueError(
            "the noise of the evaluation covers what a threshold is chosen by: evaluate with a "
            "larger epsilon, or more records"
        )


def _highest_with(found: Any, recall: float) -> int:
    """The highest border from which on the recall is reached, however noisy it is below."""
    reached = np.flatnonzero(np.asarray(found) >= recall)
    return int(reached[-1])  # border 0 finds everyone


def _costs(table: Scores, cost: tuple[float, float], width: Level) -> Figure:
    """The mean cost of a record at every border."""
    false_positive, false_negative = (float(each) for each in cost)
    if not (false_positive >= 0 and false_negative >= 0 and false_positive + false_negative > 0):
        raise ValueError(f"cost is {cost!r}, expected two numbers of at least 0, not both 0")
    cells = np.arange(SCORE_CELLS)
    above = cells >= np.arange(SCORE_CELLS + 1)[:, np.newaxis]
    weights = np.concatenate([false_positive * above, false_negative * ~above], axis=1)
    both = np.concatenate([table.other.counts[1], table.own.counts[1]])
    everyone = table.own._replace(counts=np.broadcast_to(both, weights.shape))
    return everyone.mean(weights, width, (0.0, max(false_positive, false_negative)))


def _threshold(table: Scores, at: int, width: Level, cost: Figure | None = None) -> Threshold:
    positives, negatives = table.own.counts[1], table.other.counts[1]
    hit, taken = positives[at:].sum(), negatives[at:].sum()
    missed, left = positives[:at].sum(), negatives[:at].sum()
    above, below = SCORE_CELLS - at, at

    def part(one: float, rest: float, cells: tuple[int, int], of: Counted = table.own) -> Figure:
        return share(one, rest, of, width, cells).if_known(UNIT)

    return Threshold(
        float(SCORE_EDGES[at]),
        recall=part(hit, missed, (above, below)),
        precision=part(hit, taken, (above, above)),
        accuracy=part(hit + left, missed + taken, (SCORE_CELLS, SCORE_CELLS)),
        false_positive_rate=part(taken, left, (above, below)),
        cost=cost,
    )

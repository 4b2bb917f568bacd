"""The public cells in which outcomes of a model are counted: nothing in here follows from data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import MAX_VALUE_BINS, Encoding

SCORE_CELLS = 49
"""Cells of a probability: as many as keep their noise small beside what coarser ones would lose.
Quarters and halves, which simple models answer, are no borders of so many."""
SCORE_EDGES: NDArray[np.float64] = np.sin(np.linspace(0, np.pi / 2, SCORE_CELLS + 1)) ** 2
"""Borders of the cells, narrow at 0 and 1, where probabilities of rare classes differ; p and 1 - p
lie in cells of the same width."""
CELLS_AN_OCTAVE = 4
SIDE_CELLS = 8 * CELLS_AN_OCTAVE  # the least error told from 0 is a 256th of the range
MOST_CLASSES = MAX_VALUE_BINS

CLASS, PREDICTED, HIT, OWN, OTHER_CLASS, OTHER = range(6)
"""The columns of `dpforest.records.outcomes.class_outcomes`."""


def class_cells(n_classes: int) -> Encoding:
    """How the outcomes of a classifier are binned."""
    if not 2 <= n_classes <= MOST_CLASSES:
        raise ValueError(
            f"the model has {n_classes} classes: evaluations are made for 2 to {MOST_CLASSES}"
        )
    last, cuts = n_classes - 1, tuple(SCORE_EDGES[1:-1].tolist())
    return Encoding.from_schema(
        Schema(
            (
                NumericFeature("class", 0, last, integer=True),
                NumericFeature("predicted", 0, last, integer=True),
                NumericFeature("hit", 0, 1, integer=True),
                NumericFeature("score of the class", 0, 1, cuts=cuts),
                NumericFeature("another class", 0, last, integer=True),
                NumericFeature("its score", 0, 1, cuts=cuts),
            )
        )
    )


def residual_edges(bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Borders of the cells of residuals: halved every four, from the range of the target down."""
    width = bounds[1] - bounds[0]
    positive = width * 2.0 ** (-np.arange(SIDE_CELLS + 1) / CELLS_AN_OCTAVE)
    return np.concatenate([-positive, positive[::-1]])


def residual_cells(bounds: tuple[float, float]) -> Encoding:
    """How residuals are binned."""
    width = bounds[1] - bounds[0]
    if not math.isfinite(width):
        raise ValueError("the bounds of the target are too far apart, expected a finite range")
    cuts = tuple(residual_edges(bounds)[1:-1].tolist())
    return Encoding.from_schema(Schema((NumericFeature("residual", -width, width, cuts=cuts),)))

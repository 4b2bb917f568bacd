"""What comes before the flagship's rounds of trees, or is all of the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpforest.arrays import Values
from dpforest.forests.boosting import BoostedTrees
from dpforest.report.descent_noise import DescentNoise
from dpforest.report.noise_runs import RUNS


@dataclass(frozen=True)
class Start:
    """A linear model, a rule, a number or a greedy tree, as trees; and what chance does to it.

    Parameters
    ----------
    forest : BoostedTrees
    noise : DescentNoise, optional
        Of a linear model; that of a choice, which is no sum with noise in it, is 0.
    by_chance : ndarray of float64, shape (n_trees, RUNS), optional
        Of a greedy tree: by how much chance and noise may have moved the scores of its leaves.
    """

    forest: BoostedTrees
    noise: DescentNoise | None = None
    by_chance: Values = field(default_factory=lambda: np.zeros((0, RUNS)))

    @classmethod
    def chosen(cls, forest: BoostedTrees) -> Start:
        """What was chosen as a whole: there is no noise to compare it with."""
        return cls(forest, DescentNoise(0.0, 0.0))

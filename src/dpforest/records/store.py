"""How a total over all records is taken, wherever the records are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dpforest.records.coins import Coins
from dpforest.records.recipes import Binning, Dealing, NewTrees, Sampling, Scoring, State, Trained
from dpforest.records.statistics import Statistic
from dpforest.tables.encode import Encoding
from dpforest.trees.oblivious import ObliviousTrees

DrawBelow = Callable[[int, int], NDArray[np.int64]]
"""``draw(m, size)``: that many independent uniform draws from 0, ..., m - 1."""


class RecordStore(ABC):
    """Records that can be binned, dealt out to trees, and totalled; never looked at one by one.

    Nothing happens before a total is asked: until then the store only notes how records are to be
    binned, dealt, sampled and scored (`recipes`). A store says how a total is taken under
    these recipes, in one visit of every record, and nothing else.
    """

    def __init__(self, has_weights: bool = False) -> None:
        self.has_weights = has_weights
        """Whether records have weights, apart from what these are."""
        self._state = State()
        self._numbers = count()

    @abstractmethod
    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """The exact total of a statistic under the recipes of ``_state``, for the desk only."""

    def close(self) -> None:
        """Give back what the store holds; there are no totals any more."""
        self._state = State()

    def encode(
        self, encoding: Encoding, *, by_feature: bool = False, only: Sequence[int] | None = None
    ) -> None:
        """Bin the records as the encoding says; totals are taken of binned records.

        Parameters
        ----------
        encoding : Encoding
        by_feature : bool
            Keep the bins of a feature together, as oblivious trees like them.
        only : sequence of int, optional
            The features to bin.
        """
        some = None if only is None or len(only) == len(encoding.cuts) else tuple(only)
        binning = Binning(next(self._numbers), encoding, by_feature, some)
        self._state = replace(self._state, binning=binning)

    def start_scores(self, n_outputs: int) -> None:
        """Give every record a score of 0 for each output of a model to be boosted."""
        self._state = replace(self._state, scoring=Scoring(next(self._numbers), n_outputs))

    def add_to_scores(self, trees: ObliviousTrees, values: NDArray[np.float32]) -> None:
        """Add released trees to the scores; ``values`` has shape (trees, outputs, leaves).

        It is done when records are visited next: one visit a round of boosting, not two.
        """
        binning, scoring = self._state.binning, self._state.scoring
        assert binning is not None and scoring is not None  # noqa: PT018
        news = (*scoring.news, NewTrees(binning, trees, values))
        self._state = replace(self._state, scoring=replace(scoring, news=news))

    def deal(self, n_parts: int, coins: Coins) -> None:
        """Give each record a part by a draw of its own: parts stay as others come and go."""
        self._state = replace(self._state, dealing=Dealing(next(self._numbers), n_parts, coins))

    def sample(
        self, n_trees: int, share: Fraction, coins: Coins, known: Trained | None = None
    ) -> None:
        """Let each record join each tree with the probability ``share``, by coins of its own.

        A record that the trees already ``known`` classify well joins half as often.
        """
        binning = None if known is None else self._state.binning
        sampling = Sampling(next(self._numbers), n_trees, share, coins, known, binning)
        self._state = replace(self._state, sampling=sampling)

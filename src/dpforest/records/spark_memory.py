"""Scores that a Python worker of Spark remembers from one job to the next, to add fewer trees.

Spark mostly sends a block to the executor that keeps it, and the Python processes there live on.
What one of them remembers is a cache: scores follow from the block and the released trees, whether
they are made at once or bit by bit, so that it does not matter which process gets which block. Only
the latest fit is remembered, in the memory of the process alone.
"""

from __future__ import annotations

import gc
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpforest.records.answers import Number
from dpforest.records.recipes import State
from dpforest.records.shards import Shard

MOST_BYTES = 1 << 28
_Scores = tuple[tuple[int, int], NDArray[np.float32]]
_remembered: dict[tuple[str, Number], _Scores] = {}


@cache
def settle() -> None:
    """Spare Spark a search of all our modules for garbage, which it orders after every task."""
    gc.collect()
    gc.freeze()


def recall(fit: str, number: Number, shard: Shard, state: State) -> None:
    """Give a block the scores that were made for it, if they are newer than its own.

    They are forgotten until `remember` is called: an update that breaks off must not be recalled.
    """
    for key in [key for key in _remembered if key[0] != fit]:
        del _remembered[key]
    mark, scores = _remembered.pop((fit, number), ((-1, -1), None))
    if scores is None or state.scoring is None or mark[0] != state.scoring.number:
        return
    if mark[0] != shard.has.scores[0] or mark[1] > shard.has.scores[1]:
        shard.block = shard.block._replace(scores=scores)
        shard.has = shard.has._replace(scores=mark)


def remember(fit: str, number: Number, shard: Shard) -> None:
    """Keep the scores of a block that was added to a total, as far as there is room."""
    scores = shard.block.scores
    held = sum(one.nbytes for _, one in _remembered.values())
    if scores is not None and held + scores.nbytes <= MOST_BYTES:
        _remembered[fit, number] = shard.has.scores, scores

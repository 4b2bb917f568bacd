"""Remembered scores are those of the same block and fit, whole, and newer than the block's own."""

import numpy as np
import pytest

from dpforest.records import spark_memory
from dpforest.records.recipes import Scoring, State
from dpforest.records.shards import Shard

STATE = State(scoring=Scoring(number=5, n_outputs=1))


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr(spark_memory, "_remembered", {})


def shard(mark=(-1, -1), score=0.0):
    made = Shard(np.zeros(3, np.int32))
    made.block = made.block._replace(scores=np.full((1, 3), score, np.float32))
    made.has = made.has._replace(scores=mark)
    return made


def recalled(fit="fit", number=(0, 0), own=(5, 1), state=STATE):
    block = shard(own)
    spark_memory.recall(fit, number, block, state)
    return block.has.scores, float(block.block.scores[0, 0])


def test_newer_scores_are_recalled_once():
    spark_memory.remember("fit", (0, 0), shard((5, 3), 7.0))
    assert recalled() == ((5, 3), 7.0)
    assert recalled() == ((5, 1), 0.0)  # until they are remembered again: an update may break off


@pytest.mark.parametrize(
    "question",
    [
        {"fit": "another"},
        {"number": (0, 1)},
        {"own": (5, 4)},
        {"state": State()},
        {"state": State(scoring=Scoring(6, 1))},
    ],
    ids=["another fit", "another block", "older than its own", "no scores", "other scores"],
)
def test_others_are_not(question):
    spark_memory.remember("fit", (0, 0), shard((5, 3), 7.0))
    assert recalled(**question) == (question.get("own", (5, 1)), 0.0)


def test_another_fit_takes_the_room():
    spark_memory.remember("fit", (0, 0), shard((5, 3), 7.0))
    recalled(fit="another")
    assert recalled() == ((5, 1), 0.0)


def test_there_is_an_end_of_the_room(monkeypatch):
    monkeypatch.setattr(spark_memory, "MOST_BYTES", 20)
    for i in range(2):
        spark_memory.remember("fit", (i, 0), shard((5, 3), 7.0))
    assert [recalled(number=(i, 0))[1] for i in range(2)] == [7.0, 0.0]

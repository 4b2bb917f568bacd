"""A total is given out when every partition is in it once, as it was when it was first read."""

import numpy as np
import pytest

from dpforest import SchemaError, SourceChangedError
from dpforest.records.answers import Answer, Failure, Partition, Roll, add_up
from dpforest.records.content import Frozen
from dpforest.records.remote import in_order


def frozen(*contents):
    found = Frozen(len(contents))
    found.check(len(contents), np.array(contents, np.uint64))
    return found


def partition(i, *contents):
    return Partition((i, 0), 0, frozen(*contents), Frozen(len(contents)))


def answer(i, *contents):
    return Answer(np.array([len(contents)]), (((i, 0), frozen(*contents)),))


ROLL = Roll([partition(0, 1, 2), partition(1, 3)])


def test_the_total_of_all_partitions_is_given_in_any_order():
    for answers in ([answer(0, 1, 2), answer(1, 3)], [answer(1, 3), Answer(), answer(0, 1, 2)]):
        assert ROLL.accepted(add_up(answers)).tolist() == [3]


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([answer(0, 1, 2)], SourceChangedError),
        ([answer(0, 1, 2), answer(1, 3), answer(2, 4)], SourceChangedError),
        ([answer(0, 1, 2), answer(1, 4)], SourceChangedError),
        ([answer(0, 2, 1), answer(1, 3)], SourceChangedError),
        ([answer(0, 1, 2), answer(1, 3, 3)], SourceChangedError),
        ([answer(0, 1, 2), answer(1, 3), answer(1, 3)], RuntimeError),
        ([answer(0, 1, 2), Answer(behind=((1, 0),))], SourceChangedError),
        ([answer(0, 1, 2), answer(1, 3), Answer(failure=Failure("KeyError"))], RuntimeError),
        ([Answer(failure=Failure("SchemaError", "no"))], SchemaError),
    ],
    ids=[
        "one is missing", "one too many", "other records", "another order", "another number",
        "one twice", "one behind", "one failed", "one refused",
    ],
)  # fmt: skip
def test_there_is_no_total_otherwise(answers, error):
    with pytest.raises(error):
        ROLL.accepted(add_up(answers))


def test_what_others_say_is_withheld():
    failure = Failure.of(ValueError("could not convert 'anna'"))
    for told in (repr(failure), str(failure.error())):
        assert "anna" not in told
        assert "ValueError" in told


def test_partitions_with_the_same_number_and_no_records_at_all_are_refused():
    with pytest.raises(RuntimeError, match="same number"):
        Roll([partition(0, 1), partition(0, 2)])
    with pytest.raises(SchemaError, match="empty"):
        Roll(in_order([partition(0), partition(1)]))


def test_places_follow_each_other_in_the_order_of_the_numbers():
    placed = in_order([partition(3, 1), partition(0, 1, 2), partition(2), partition(1, 5)])
    assert [(one.number[0], one.first) for one in placed] == [(0, 0), (1, 2), (3, 3)]

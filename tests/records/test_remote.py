"""What workers do with a partition: the same again after a loss, and never for other records."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpforest import NumericFeature, Schema, SchemaError, SourceChangedError, Target
from dpforest.privacy.mechanisms.coins import KeyedCoins
from dpforest.records import remote
from dpforest.records.answers import Failure
from dpforest.records.groups import bound_groups
from dpforest.records.reading import Reading
from dpforest.records.recipes import Binning, Dealing, State
from dpforest.records.statistics import BinCounts, RecordCount
from dpforest.records.weights import Weights
from dpforest.tables.encode import Encoding

SCHEMA = Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1)), Target("y", classes=(0, 1)))
READING = Reading(SCHEMA, "y", "person", Weights("w", 2.0))
STATE = State(Binning(0, Encoding.from_schema(SCHEMA)))
COINS = KeyedCoins(np.arange(4, dtype=np.uint64))


def part(seed=0, n=60):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.random((n, 2)), columns=["a", "b"])
    return rows.assign(y=rng.integers(0, 2, n), person=rng.integers(0, 20, n), w=rng.random(n))


def looked(rows):
    return remote.look(READING, (0, 0), rows)


@pytest.mark.parametrize("column", ["a", "y", "w", "person"])
def test_a_partition_with_another_value_is_refused(column):
    rows = part()
    other = rows.assign(**{column: rows[column][::-1].to_numpy()})
    remote.claim(READING, looked(rows), rows)
    with pytest.raises(SourceChangedError):
        remote.claim(READING, looked(rows), other)
    if column != "person":  # which is read for the choice of records alone
        with pytest.raises(SourceChangedError):
            remote.make(READING, looked(rows), STATE, other)


def test_buckets_have_all_records_of_a_person_and_choose_the_same():
    rows = part(n=400)
    claims = remote.claim(READING, looked(rows), rows)
    bucket = claims.buckets(5)
    assert len(set(bucket)) == 5
    assert rows.assign(bucket=bucket).groupby("person")["bucket"].nunique().max() == 1
    chosen = []
    for b in range(5):
        some = np.flatnonzero(bucket == b)
        share = remote.Claims(claims.persons[some], claims.contents[some])
        chosen.extend(some[share.chosen(2, COINS)])
    assert sorted(chosen) == bound_groups(rows["person"], claims.contents, 2, COINS).tolist()


def test_rows_can_be_kept_before_or_after_bins_are_made():
    rows, keep = part(), np.arange(0, 60, 3)
    state = replace(STATE, dealing=Dealing(1, 4, COINS))
    before = remote.make(READING, looked(rows), state, rows, keep).shard
    after = remote.make(READING, looked(rows), state, rows).shard
    after.keep(keep)
    np.testing.assert_array_equal(before.block.weight, rows["w"][keep] / 2)
    for one, other in zip(before.block, after.block, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(before.addresses, after.addresses)


def test_shards_that_were_sent_before_a_change_of_bins_are_as_they_were():
    rows = part()
    kept = remote.make(READING, looked(rows), STATE, rows)
    sent = kept.shard.block.bins
    before = sent.copy()
    coarse = Encoding(SCHEMA, tuple(cuts[::2] for cuts in STATE.binning.encoding.cuts))
    state = State(Binning(1, coarse))
    kept.shard.own_bins(state)
    answer = remote.answer(kept, state, BinCounts((0, 1), 256))
    assert answer.total is not None
    np.testing.assert_array_equal(sent, before)
    assert not np.array_equal(kept.shard.block.bins, before)


def test_a_shard_that_needs_its_values_says_so_and_others_answer():
    rows = part()
    kept = pickle.loads(pickle.dumps(remote.make(READING, looked(rows), STATE, rows)))
    assert remote.answer(kept, STATE, RecordCount()).total.tolist() == [60]
    shifted = Encoding(SCHEMA, tuple(cuts + 0.001 for cuts in STATE.binning.encoding.cuts))
    answer = remote.answer(kept, State(Binning(1, shifted)), RecordCount())
    assert (answer.blank, answer.total) == (((0, 0),), None)
    assert remote.answer(Failure("KeyError"), STATE, RecordCount()).failure == Failure("KeyError")


def test_types_must_be_those_that_were_declared():
    rows = part()
    remote.require_types(rows, {"a": "number", "y": "integer"})
    with pytest.raises(SchemaError, match="'a' has another type"):
        remote.require_types(rows.assign(a=rows["a"].astype(str)), {"a": "number"})
    with pytest.raises(SchemaError, match="no column 'c'"):
        remote.require_types(rows, {"c": "number"})

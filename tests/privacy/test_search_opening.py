from fractions import Fraction

import numpy as np
import pytest

from dpforest.audit import SMALL_SCHEMA
from dpforest.exceptions import SchemaError
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.search_opening import open_parts
from dpforest.records.statistics import RecordCount

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.random(300), RNG.integers(0, 2, 300)])
Y = (X[:, 0] > 0.5).astype(int)
HALF = Fraction(1, 2)


class Always:
    def predict(self, X):
        return np.ones(len(X), int)


def opened(X=X, y=Y, draws=None, **how):
    return open_parts(X, y, SMALL_SCHEMA, share=HALF, draws=draws or Draws(0), **how)


def test_parts_share_no_record_and_miss_none():
    parts = opened()
    (here, y_here, groups), (there, y_there) = parts.training, parts.hold_out
    assert groups is None
    both = np.vstack([here, there])
    assert len(both) == len(X)
    assert sorted(map(tuple, both.tolist())) == sorted(map(tuple, X.tolist()))
    assert ((here[:, 0] > 0.5) == y_here).all()
    assert ((there[:, 0] > 0.5) == y_there).all()


def test_parts_share_no_person_and_persons_count_with_so_many_records():
    persons = np.repeat(np.arange(60), 5)
    parts = opened(groups=persons, max_records_per_group=2)
    inside = set(parts.training[2].tolist())
    assert len(parts.training[2]) == 5 * len(inside)
    ledger = Ledger(1, 0, Protection("add_remove", "group", 2))
    desk = parts.desk(Always(), ledger)
    assert desk.total(RecordCount()) == 2 * (60 - len(inside))


def test_a_table_that_does_not_fit_is_refused_before_any_coin_is_drawn():
    class NoCoins(Draws):
        def below(self, m, size):
            raise AssertionError

    for table, target in ((X[:, :1], Y), (X, Y[:-1]), (X, Y + 5), (X[:0], Y[:0])):
        with pytest.raises(SchemaError):
            opened(table, target, NoCoins(0))


def test_a_table_of_which_a_part_would_be_empty_is_refused():
    with pytest.raises(SchemaError, match="Nothing was spent"):
        opened(X[:1], Y[:1])


def test_what_is_held_of_the_parts_is_not_shown():
    assert "array" not in repr(opened())

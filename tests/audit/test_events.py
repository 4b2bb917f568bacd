import numpy as np
import pytest

from dpforest.audit.bounds import epsilon_bound
from dpforest.audit.events import learn_event


def tell(hits, other, trials):
    return epsilon_bound(hits, other, trials, delta=0.0, confidence=0.9)


def learnt(one, other):
    names = [f"number {i}" for i in range(one.shape[1])]
    return learn_event(one, other, names, tell)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_shift_hidden_among_noise_is_found(rng):
    one, other = rng.normal(size=(2, 4000, 50))
    other[:, 17] += 3.0
    event = learnt(one, other)
    assert "number 17" in str(event)
    hits = [event.happens(x).mean() for x in (one, other)]
    assert hits[event.likelier] > 20 * hits[1 - event.likelier]


def test_small_shifts_of_many_numbers_are_added_up(rng):
    one, other = rng.normal(size=(2, 4000, 20))
    event = learnt(one, other + 0.4)
    assert event.description.startswith(("sum", "discriminant"))
    fresh, shifted = rng.normal(size=(4000, 20)), rng.normal(size=(4000, 20)) + 0.4
    hits = [event.happens(x).mean() for x in (fresh, shifted)]
    assert hits[event.likelier] > 4 * hits[1 - event.likelier]


def test_a_number_that_is_absent_tells(rng):
    one, other = rng.normal(size=(2, 400, 3))
    other[:, 1] = np.nan
    event = learnt(one, other)
    assert event.happens(other).mean() != event.happens(one).mean()
    assert event.promise > 2


def test_a_value_in_the_middle_tells(rng):
    one = rng.integers(0, 3, (4000, 1)).astype(float)
    other = rng.choice([0.0, 2.0], (4000, 1))
    event = learnt(one, other)
    assert event.description.startswith("log likelihood ratio")
    assert event.promise > 3


def test_control_nothing_is_promised_where_there_is_nothing(rng):
    one, other = rng.normal(size=(2, 4000, 10))
    assert learnt(one, other).promise < 0.5


def test_later_releases_may_be_shorter(rng):
    one, other = rng.normal(size=(2, 400, 3))
    other[:, 2] += 9.0
    assert learnt(one, other).happens(one[:, :2]).shape == (400,)

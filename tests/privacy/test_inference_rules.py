"""Rules of paid schemas: the threshold keeps its promise exactly, and is no larger than it must."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpforest.privacy.inference_rules import (
    FALSE_ALARM,
    bounds_of_counts,
    category_threshold,
    kind_of_counts,
    least_count,
)
from dpforest.privacy.mechanisms.noise import laplace_scale
from dpforest.records.value_counts import N_MAGNITUDES, magnitude


def laplace_tail(scale, m):
    """P(Z >= m) for discrete Laplace noise, m >= 1."""
    q = math.exp(-1 / scale)
    return q**m / (1 + q)


def distribution(counts, scale, threshold):
    """The exact distribution of the set of released categories."""
    sets = {frozenset(): 1.0}
    for name, count in counts.items():
        m = threshold - count
        kept = laplace_tail(scale, m) if m >= 1 else 1 - laplace_tail(scale, 1 - m)
        sets = {
            s | add: p * chance
            for s, p in sets.items()
            for add, chance in ((frozenset({name}), kept), (frozenset(), 1 - kept))
        }
    return sets


def least_delta(first, second, epsilon):
    return sum(max(0.0, p - math.exp(epsilon) * second.get(s, 0.0)) for s, p in first.items())


WORLDS = [{}, {"a": 1}, {"a": 2}, {"a": 3, "b": 1}, {"a": 1, "b": 1}, {"b": 4}]


STEPS = {
    ("add_remove", None): 1,
    ("replace_one", None): 2,
    ("add_remove", 2): 2,
    ("replace_one", 2): 4,
}
"""Single records between neighbours: one record, or a person of at most two."""


def neighbours(kind, most):
    """Pairs of counts that differ by one record or person, added or replaced."""
    records = [
        c for size in range((most or 1) + 1) for c in combinations_with_replacement("abc", size)
    ]
    for world, first in product(WORLDS, records):
        larger = Counter(world) + Counter(first)
        if kind == "add_remove":
            yield world, larger
        else:
            yield from ((larger, Counter(world) + Counter(other)) for other in records)


@pytest.mark.parametrize(("kind", "most"), STEPS)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_categories_keep_their_promise_exactly(kind, most, epsilon, delta):
    steps = STEPS[kind, most]
    scale, _ = laplace_scale(Fraction(epsilon), steps)
    threshold = category_threshold(scale, Fraction(delta), steps)

    def worst(scale, threshold):
        found = 0.0
        for first, second in neighbours(kind, most):
            p = distribution(first, float(scale), threshold)
            q = distribution(second, float(scale), threshold)
            found = max(found, least_delta(p, q, epsilon), least_delta(q, p, epsilon))
        return found

    assert worst(scale, threshold) <= delta * (1 + 1e-9)
    # The control: a threshold a few noise scales lower gives rare values away.
    assert worst(scale, math.floor(threshold - 3 * float(scale) - 2)) > delta


@pytest.mark.parametrize("steps", [1, 2, 4, 9])
@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(2), Fraction(40)])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_the_threshold_covers_new_values_of_all_records_between_neighbours(steps, scale, delta):
    """By group privacy; a threshold a few records lower would not do."""
    threshold = category_threshold(scale, Fraction(delta), steps)
    width = float(scale)
    group = sum(math.exp(i / width) for i in range(steps))
    # The bound of the proof for discrete Laplace noise, not only its value.
    assert math.exp(-(threshold - 1) / width) * group <= delta * (1 + 1e-9)
    assert laplace_tail(width, max(1, math.floor(threshold - 4 - width))) * group > delta


@pytest.mark.parametrize("n_cells", [4, 257])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(100)])
def test_empty_cells_hardly_ever_stand_out(n_cells, scale):
    least = least_count(n_cells, scale)
    chance = n_cells * laplace_tail(float(scale), math.ceil(least))
    assert chance <= FALSE_ALARM
    assert chance > FALSE_ALARM / 10


def test_a_column_is_what_most_of_its_values_are():
    scale = Fraction(1)
    assert kind_of_counts(np.array([0, 5, 0, 0]), scale) is None
    assert kind_of_counts(np.array([0, 50, 5, 0]), scale) == "integer"
    assert kind_of_counts(np.array([0, 50, 7, 0]), scale) == "number"
    assert kind_of_counts(np.array([0, 50, 7, 58]), scale) == "category"
    assert kind_of_counts(np.array([60, 50, 7, 0]), scale) == "boolean"


def test_bounds_are_the_outer_edges_of_what_stands_out():
    cells = np.zeros(2 * N_MAGNITUDES + 1, np.int64)
    assert bounds_of_counts(cells, Fraction(1)) is None
    cells[[N_MAGNITUDES + 66, N_MAGNITUDES + 70]] = 50
    assert bounds_of_counts(cells, Fraction(1)) == (magnitude(65), magnitude(70))
    cells[N_MAGNITUDES - 3] = 50
    assert bounds_of_counts(cells, Fraction(1)) == (-magnitude(3), magnitude(70))

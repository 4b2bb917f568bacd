"""Private quantiles: rank utilities, exhaustive privacy of one choice and of the recursion."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.mechanisms import quantiles
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.quantiles import (
    cell_utilities,
    quantile_cell,
    quantile_cells,
)
from dpforest.privacy.mechanisms.selection import exponential_probabilities

LEVELS = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1)]
EPSILON = Fraction(8)


def neighbouring_counts(n_cells, largest):
    """Every pair of histograms of which one has one record more."""
    small = np.array(list(itertools.product(range(largest + 1), repeat=n_cells)))
    steps = np.eye(n_cells, dtype=np.int64)
    return np.repeat(small, n_cells, axis=0), (small[:, None] + steps).reshape(-1, n_cells)


@pytest.mark.parametrize("level", LEVELS)
def test_one_record_moves_the_utility_by_at_most_its_sensitivity(level):
    left, right = neighbouring_counts(4, 4)
    before, sensitivity = cell_utilities(left, level)
    after, _ = cell_utilities(right, level)
    assert np.abs(after - before).max() == sensitivity


@pytest.mark.parametrize("level", LEVELS)
def test_a_choice_costs_epsilon_and_hardly_less(level):
    """The worst is a long cell, which weighs what the others do, on the other side."""
    left, right = neighbouring_counts(4, 4)

    def loss(epsilon, weights):
        logs = []
        for counts in (left, right):
            utilities, sensitivity = cell_utilities(counts, level)
            exact = exponential_probabilities(
                utilities,
                epsilon=epsilon,
                sensitivity=sensitivity,
                monotone=False,
                weights=weights,
            )
            logs.append(np.log(exact))
        return np.abs(logs[0] - logs[1]).max()

    found = max(loss(EPSILON, np.where(np.arange(4) == heavy, 10**14, 1)) for heavy in range(4))
    # At the ends of the range all utilities move the same way: half of epsilon would do.
    attained = 1 if 0 < level < 1 else Fraction(1, 2)
    assert 0.9 * EPSILON * attained < found <= EPSILON * attained + 1e-9
    assert loss(EPSILON, 1 + np.arange(4) ** 3) <= EPSILON + 1e-12


def test_utilities_by_hand():
    counts = [[2, 0, 3, 5], [0, 0, 0, 0]]
    utilities, sensitivity = cell_utilities(counts, Fraction(1, 4))
    # The wanted rank is 2.5: half a rank after cells 0 and 1, inside cell 2, 2.5 before cell 3.
    assert utilities.tolist() == [[-2, -2, 0, -10], [0, 0, 0, 0]]
    assert sensitivity == 3


def outcomes(counts, levels, epsilon, monkeypatch, lengths=None):
    """Exact distribution of `quantile_cells`, by playing every sequence of choices."""
    found = {}
    n_cells = len(counts)
    for script in itertools.product(range(n_cells), repeat=len(levels)):
        state = {"turn": 0, "probability": 1.0}

        def choose(_, utilities, *, script=script, state=state, **options):
            choice = script[state["turn"]]
            state["turn"] += 1
            exact = exponential_probabilities(utilities, **options)
            state["probability"] *= float(exact[choice])
            # An impossible choice has weight 0; go on with a possible one.
            return np.asarray(choice if exact[choice] > 0 else exact.argmax())

        monkeypatch.setattr(Draws, "exponential", choose)
        cells = quantile_cells(counts, levels, epsilon=epsilon, draws=Draws(0), lengths=lengths)
        if state["probability"] > 0:
            found[tuple(cells.tolist())] = (
                found.get(tuple(cells.tolist()), 0) + state["probability"]
            )
    return found


def test_several_quantiles_cost_epsilon_together_and_hardly_less(monkeypatch):
    levels = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]

    def loss(epsilon, lengths=None):
        tables = {
            counts: outcomes(np.array(counts), levels, epsilon, monkeypatch, lengths)
            for counts in itertools.product(range(4), repeat=3)
        }
        worst = 0.0
        for counts, exact in tables.items():
            assert sum(exact.values()) == pytest.approx(1, abs=1e-9)
            for cell in range(3):
                more = tuple(c + (i == cell) for i, c in enumerate(counts))
                if more in tables:
                    assert exact.keys() == tables[more].keys()
                    losses = [abs(math.log(exact[o] / tables[more][o])) for o in exact]
                    worst = max(worst, *losses)
        return worst

    assert loss(EPSILON) <= EPSILON + 1e-9
    # The worst has a long cell in the middle, which weighs what the others do.
    assert 0.9 * EPSILON < loss(EPSILON, [1, 10**14, 1]) <= EPSILON + 1e-9


def test_large_budgets_find_the_quantiles():
    counts = np.full((2, 3, 99), 50)
    levels = [Fraction(k, 10) for k in range(1, 10)]
    cells = quantile_cells(counts, levels, epsilon=Fraction(40), draws=Draws(0))
    assert cells.shape == (2, 3, 9)
    assert np.abs(cells - np.array([10 * k - 1 for k in range(1, 10)])).max() <= 3
    assert (quantile_cell(counts, epsilon=40, draws=Draws(0)) == 49).all()


def test_infinite_epsilon_is_exact():
    draws = Draws()
    assert quantile_cell([3, 1, 3], epsilon=math.inf, draws=draws) == 1
    cells = quantile_cells([9, 1, 9], [Fraction(1, 2)], epsilon=math.inf, draws=draws)
    assert cells.tolist() == [1]


def test_quantiles_never_decrease_and_empty_data_follow_the_lengths():
    levels = [Fraction(k, 6) for k in range(1, 6)]
    counts = np.random.default_rng(0).integers(0, 3, size=(500, 12))
    cells = quantile_cells(counts, levels, epsilon=Fraction(1, 2), draws=Draws(0))
    assert (np.diff(cells, axis=-1) >= 0).all()
    nothing = np.zeros((4000, 3), dtype=int)
    chosen = quantile_cell(nothing, epsilon=1, draws=Draws(0), lengths=[1, 2, 1])
    assert abs((chosen == 1).mean() - 0.5) < 0.05


def test_a_heavy_cell_does_not_swallow_the_tail():
    counts = [0, 9000] + [100] * 10
    levels = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    cells = quantile_cells(counts, levels, epsilon=Fraction(10), draws=Draws(0))
    assert cells[:2].tolist() == [1, 1]
    assert cells[2] > 3


def test_more_steps_between_neighbours_mean_more_noise(monkeypatch):
    seen = []
    monkeypatch.setattr(Draws, "exponential", lambda *_, **options: seen.append(options))
    quantile_cell([1, 2], Fraction(1, 3), epsilon=1, draws=Draws(), steps=3)
    assert [options["sensitivity"] for options in seen] == [6]
    assert not any(options["monotone"] for options in seen)


@pytest.mark.parametrize("seed", range(20))
def test_a_record_takes_part_in_one_choice_of_each_round(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    counts, parts = rng.integers(1, 9, 6), []

    def some_cell(part, level, *, lengths, **_):
        parts.append(part)
        return rng.choice(np.flatnonzero(lengths), size=())

    monkeypatch.setattr(quantiles, "quantile_cell", some_cell)
    quantile_cells(counts, [Fraction(k, 8) for k in range(1, 8)], epsilon=EPSILON, draws=Draws())
    # The middle, then the lower half with its two quarters, then the upper half with its own.
    rounds = [[parts[0]], [parts[1], parts[4]], [parts[i] for i in (2, 3, 5, 6)]]
    for disjoint in rounds:
        np.testing.assert_array_equal(sum(disjoint), counts)


def test_several_quantiles_pass_the_steps_on(monkeypatch):
    seen = []

    def first(_, utilities, **options):
        seen.append(options)
        return np.zeros(utilities.shape[:-1], np.int64)

    monkeypatch.setattr(Draws, "exponential", first)
    levels = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    quantile_cells([5, 5, 5], levels, epsilon=Fraction(1), draws=Draws(), steps=3)
    # Every level is the median of what is left to it, of sensitivity 1; there are two rounds.
    assert [options["sensitivity"] for options in seen] == [3, 3, 3]
    assert {options["epsilon"] for options in seen} == {Fraction(1, 2)}


@pytest.mark.parametrize("level", [-1, 2, Fraction(1, 1 << 21), math.nan])
def test_bad_levels_are_refused(level):
    with pytest.raises(ValueError, match="level must be"):
        quantile_cell([1, 2], level, epsilon=1, draws=Draws())


@pytest.mark.parametrize("levels", [[], [Fraction(0)], [Fraction(1, 2)] * 2, [Fraction(1)]])
def test_bad_lists_of_levels_are_refused(levels):
    with pytest.raises(ValueError, match="increasing"):
        quantile_cells([1, 2], levels, epsilon=Fraction(1), draws=Draws())


def test_counts_must_be_integers():
    with pytest.raises(ValueError, match="counts must be integers"):
        quantile_cell([0.5, 1.0], epsilon=1, draws=Draws())

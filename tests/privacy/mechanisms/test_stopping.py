from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from scipy.stats import chisquare

from dpforest.privacy.accounts.stopping import Stopping
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.stopping import draw_number_of_trials


def exact_probabilities(law, most):
    """Follow every draw: the probability of each number, of the draws that are kept at once."""
    kept = {}
    for trials in range(1, most + 1):
        coins = iter(count())
        asked = []

        def draw(m, trials=trials, coins=coins, asked=asked):
            asked.append(m)
            place = next(coins)
            # Go on to so many trials, then win every coin; 0 is the answer that wins.
            return 1 if place < trials - 1 else 0

        assert draw_number_of_trials(law, draw) == trials
        going_on, coin_sides = asked[:trials], asked[trials:]
        chance = Fraction(1, law.odds) * Fraction(law.odds - 1, law.odds) ** (trials - 1)
        assert set(going_on) == {law.odds}
        for one, sides in enumerate(coin_sides, start=1):
            chance *= wins(law, one, sides)
        kept[trials] = chance
    return kept


def wins(law, one, sides):
    """The share of the sides of a coin that win: tried one by one."""
    won = 0
    for side in range(sides):
        answers = iter([*[1] * one, 0, *[0] * (one - 1), side])  # one + 1 trials, coin `one`
        try:
            won += draw_number_of_trials(law, lambda m, a=answers: next(a)) == one + 1
        except StopIteration:
            continue
    return Fraction(won, sides)


@pytest.mark.parametrize("eta", [0, Fraction(1, 2), 1])
def test_every_number_has_exactly_its_probability(eta):
    law = Stopping(eta, 5)
    found = exact_probabilities(law, 7)
    weight = {1: Fraction(1)}
    for k in range(2, 8):
        weight[k] = weight[k - 1] * Fraction(4, 5) * (k - 1 + law.eta) / k
    assert {k: chance / found[1] for k, chance in found.items()} == weight


@pytest.mark.parametrize("eta", [0, Fraction(1, 2), 1])
def test_draws_follow_the_law(eta):
    # One false alarm in a thousand, with a fixed seed.
    law, draws = Stopping(eta, 6), Draws(3)
    found = np.array([draws.number_of_trials(law) for _ in range(4000)])
    weights = [1.0]
    for k in range(2, 200):
        weights.append(weights[-1] * (5 / 6) * (k - 1 + float(eta)) / k)
    chances = np.array(weights) / sum(weights)
    cells = np.append(chances[:8], 1 - chances[:8].sum())
    seen = np.bincount(np.minimum(found, 9), minlength=10)[1:]
    assert chisquare(seen, 4000 * cells).pvalue > 1e-3


def test_a_draw_apart_is_uniform():
    draws = Draws(1)
    seen = np.bincount([draws.apart(5) for _ in range(3000)], minlength=5)
    assert chisquare(seen).pvalue > 1e-3

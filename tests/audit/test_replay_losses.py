import itertools
import math
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest.audit.replay_losses import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    PERMUTE_AND_FLIP,
    THRESHOLD,
    NamedCounts,
    Release,
)
from dpforest.audit.script import exponential_law, permute_and_flip_law
from dpforest.privacy.mechanisms.splitting import NO_CANDIDATE


def release(mechanism, parameter, exact, outcome, **more):
    arrays = np.array(exact, np.int64), np.array(outcome, np.int64)
    return Release("", mechanism, Fraction(parameter), *arrays, **more)


def test_the_loss_of_laplace_noise_is_that_of_its_density():
    one, other = [3, 0, 5], [2, 2, 5]
    for outcome in itertools.product(range(-2, 7, 2), repeat=3):
        loss = release(LAPLACE, "3/2", one, outcome).loss_to(
            release(LAPLACE, "3/2", other, outcome)
        )
        log = [
            -sum(abs(y - a) for y, a in zip(outcome, totals, strict=True)) / Fraction(3, 2)
            for totals in (one, other)
        ]
        assert loss.path == log[1] - log[0]
        assert loss.up == loss.down == 2
        assert abs(loss.path) <= loss.up


@pytest.mark.parametrize("mechanism", [PERMUTE_AND_FLIP, EXPONENTIAL])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(5)])
def test_the_loss_of_choices_is_that_of_their_exact_laws(mechanism, rate):
    law = permute_and_flip_law if mechanism == PERMUTE_AND_FLIP else exponential_law
    one, other = [[5, 2, 9, 9], [1, 1, 40, 0]], [[6, 2, 9, 10], [1, 1, 40, 0]]
    with localcontext(prec=60):
        ratios = [float(b.ln() - a.ln()) for a, b in zip(law(one[0], rate), law(other[0], rate),
                                                         strict=True)]  # fmt: skip
    for chosen in range(4):
        asked = [release(mechanism, rate, utilities, [chosen, 2]) for utilities in (one, other)]
        loss = asked[0].loss_to(asked[1])
        assert loss.path == pytest.approx(ratios[chosen], abs=1e-12)
        assert loss.up == pytest.approx(max(ratios), abs=1e-12)
        assert loss.down == pytest.approx(-min(ratios), abs=1e-12)


def test_weights_hide_candidates_and_count_in_the_law():
    weights, rate = [2, 0, 5], Fraction(1, 2)
    one, other = [3, 100, 1], [3, 101, 2]
    known = {"weights": np.array(weights)}
    loss = release(EXPONENTIAL, rate, one, 2, **known).loss_to(
        release(EXPONENTIAL, rate, other, 2, **known)
    )
    laws = [exponential_law(utilities, rate, weights) for utilities in (one, other)]
    ratios = [math.log(laws[1][i] / laws[0][i]) for i in (0, 2)]
    assert loss.path == pytest.approx(ratios[1])
    assert (loss.up, loss.down) == pytest.approx((ratios[1], -ratios[0]))


def test_next_to_impossible_candidates_have_a_finite_loss():
    one, other = [7, NO_CANDIDATE], [9, NO_CANDIDATE]
    asked = [release(PERMUTE_AND_FLIP, "1/4", utilities, 0) for utilities in (one, other)]
    assert asked[0].loss_to(asked[1]).down == pytest.approx(0.5)


def test_gaussian_releases_add_up_in_squares():
    one, other = release(GAUSSIAN, 104, [3, 0], [0, 0]), release(GAUSSIAN, 104, [0, 4], [0, 0])
    loss = one.loss_to(other)
    assert (loss + loss).mu_squared == pytest.approx(2 * 0.5**2)
    assert loss.largest == 0


def test_values_of_one_table_only_cost_the_chance_to_be_named():
    def named(levels, counts, outcome):
        arrays = np.array(counts), np.array(outcome)
        return NamedCounts("", THRESHOLD, Fraction(2), *arrays, None, levels, 9)

    one, other = named(("a", "b"), [5, 7], [6, 7]), named(("a", "b", "c"), [5, 8, 2], [6, 7, 8])
    loss = one.loss_to(other)
    k = np.arange(-400, 400)
    chances = np.exp(-np.abs(k) / 2) / np.exp(-np.abs(k) / 2).sum()
    assert loss.delta == pytest.approx(chances[2 + k >= 9].sum())
    assert loss.up == Fraction(1, 2)
    assert one.follows_law_of(other)

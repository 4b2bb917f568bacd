"""Draws: everything that is random comes from one source, and every request arrives as it was."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.mechanisms import selection
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.randomness import RandomBits


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("weights", [None, [1, 2, 0]])
def test_a_choice_is_made_as_it_was_asked_for(monkeypatch, monotone, weights):
    seen = []
    for name in ("exponential_mechanism", "permute_and_flip"):
        monkeypatch.setattr(
            selection, name, lambda *given, **options: seen.append((given, options))
        )
    draws = Draws(3)
    asked = {"epsilon": Fraction(1, 3), "sensitivity": 7, "monotone": monotone}
    draws.permute_and_flip([1, 2, 3], **asked)
    draws.exponential([1, 2, 3], weights=weights, **asked)
    flipped, drawn = seen
    assert flipped == (([1, 2, 3],), {**asked, "bits": draws.bits})
    assert drawn == (([1, 2, 3],), {**asked, "bits": draws.bits, "weights": weights})


@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(3)])
def test_a_choice_at_a_rate_has_odds_of_the_rate(rate):
    """Twice 8,000 candidates a unit apart: 5 standard deviations, fixed seed."""
    pairs = np.tile([0, 1], (8_000, 1))
    share = Draws(1).exponential_at(pairs, rate).mean()
    expected = 1 / (1 + np.exp(-float(rate)))
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 8_000)


def test_an_infinite_rate_takes_the_best():
    assert Draws(1).exponential_at(np.array([3, 9, 8]), np.inf) == 1


def test_without_a_seed_the_draws_are_secret():
    assert not Draws().reproducible
    assert Draws(0).reproducible
    assert (Draws().below(1 << 60, 20) != Draws().below(1 << 60, 20)).all()


def test_draws_share_the_source_they_are_given():
    bits = RandomBits(5)
    assert Draws(bits).bits is bits


def test_every_record_has_a_coin_of_its_own():
    """200 draws from 2**40 are all different, but for a chance of one in 10**7."""
    assert len(np.unique(Draws(1).below(1 << 40, 200))) == 200


def test_noise_is_that_of_the_mechanism():
    noise = AdditiveNoise.for_price(Pure(0.01), l1=1, l2=1.0)
    totals = np.arange(50)
    np.testing.assert_array_equal(
        Draws(2).add_noise(noise, totals), noise.added_to(totals, RandomBits(2))
    )

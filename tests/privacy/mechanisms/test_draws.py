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

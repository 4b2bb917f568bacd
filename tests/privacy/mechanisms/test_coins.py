"""Coins of records: ChaCha20 as its RFC has it, uniform, and each address and turn its own."""

import math
import pickle

import numpy as np
import pytest

from dpforest.privacy.mechanisms.coin_kernels import block
from dpforest.privacy.mechanisms.coins import CONSTANTS, KeyedCoins
from dpforest.privacy.mechanisms.draws import Draws

PLACES = np.arange(20_000, dtype=np.uint64)


def coins(seed=0):
    return Draws(seed).coins()


def test_the_block_of_rfc_8439():
    """Section 2.3.2: the key 00 01 ... 1f, the counter 1, the nonce 000000090000004a00000000."""
    nonce = np.frombuffer(bytes.fromhex("000000090000004a00000000"), np.uint32)
    key = np.arange(32, dtype=np.uint8).view(np.uint32)
    start = np.concatenate([CONSTANTS, key, np.array([1], np.uint32), nonce])
    out = np.empty(16, np.uint32)
    block(start, np.empty(16, np.uint32), out)
    expected = (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    assert out.tobytes().hex() == expected


def test_a_draw_is_the_word_of_its_address_and_turn():
    key = np.arange(4, dtype=np.uint64)
    address, turn = 0x1234567890ABCDEF, 11
    start = np.zeros(16, np.uint32)
    start[:4], start[4:12] = CONSTANTS, key.view(np.uint32)
    start[13:] = turn // 8, address & 0xFFFFFFFF, address >> 32
    out = np.empty(16, np.uint32)
    block(start, np.empty(16, np.uint32), out)
    word = int(out.view(np.uint64)[turn % 8])
    drawn = KeyedCoins(key).below(1 << 62, np.array([address], np.uint64), turn)
    assert drawn.tolist() == [word % (1 << 62)]


def test_coins_do_not_depend_on_what_is_asked_along_with_them():
    together = coins().below(1000, PLACES, 3)
    some = np.array([17, 4, 19_999, 17], np.uint64)
    assert coins().below(1000, some, 3).tolist() == together[[17, 4, 19_999, 17]].tolist()
    sent = pickle.loads(pickle.dumps(coins()))
    assert (sent.below(1000, PLACES, 3) == together).all()
    chances = np.full(len(PLACES), 300)
    joined = coins().joins(chances, 1000, PLACES, 20)
    for tree in (0, 7, 8, 19):
        assert (joined[:, tree] == (coins().below(1000, PLACES, tree) < 300)).all()


@pytest.mark.parametrize("m", [1, 2, 3, 10, 1 << 20, (1 << 62) - 1, 3 << 60])
def test_draws_are_uniform(m):
    """Each of up to 8 equal parts within 5 standard errors, in every turn of a block."""
    for turn in range(0, 10, 3):
        drawn = coins(turn).below(m, PLACES, turn)
        assert drawn.min() >= 0
        assert drawn.max() < m
        parts = min(m, 8)
        counts = np.bincount((drawn.astype(object) * parts // m).astype(int), minlength=parts)
        for part, count in enumerate(counts):
            p = (-(-m * (part + 1) // parts) - -(-m * part // parts)) / m
            assert abs(count - 20_000 * p) <= 5 * math.sqrt(20_000 * p * (1 - p))


def test_what_is_left_over_of_a_word_is_thrown_away():
    """Below 3 * 2**60 every fifth word is too large: taken modulo, a third of values would double.

    16 values in 3 * 2**60 are 2**64 / 3 / 2**60 = 5 1/3 words, and 1/16 of all words is left over.
    """
    drawn = coins().below(3 << 60, PLACES)
    lowest = np.count_nonzero(drawn < 1 << 60)
    assert abs(lowest - 20_000 / 3) <= 5 * math.sqrt(20_000 * 2 / 9)


def test_addresses_and_turns_have_coins_of_their_own():
    far = PLACES + (np.uint64(1) << np.uint64(32))
    streams = [coins().below(1 << 60, PLACES, turn) for turn in (0, 1, 8, 9)]
    streams.append(coins().below(1 << 60, far))
    streams.append(coins(1).below(1 << 60, PLACES))
    assert len(np.unique(np.concatenate(streams))) == 6 * 20_000


def test_keys_are_secret_and_fresh():
    """Without a seed no two keys are alike; with one, the questions of a fit have their own."""
    for draws in (Draws(), Draws(3)):
        one, other = (draws.coins().below(1 << 60, PLACES) for _ in range(2))
        assert not np.isin(one, other).any()
    assert not np.isin(Draws().coins().below(1 << 60, PLACES), one).any()
    assert (Draws(3).coins().below(9, PLACES) == Draws(3).coins().below(9, PLACES)).all()


@pytest.mark.parametrize("m", [0, -1, (1 << 62) + 1])
def test_what_cannot_be_drawn_from_is_refused(m):
    with pytest.raises(ValueError, match="between 1 and"):
        coins().below(m, PLACES)

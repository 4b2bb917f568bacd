"""ChaCha20 as a function of a key and an address (RFC 8439), compiled: coins of records."""

from __future__ import annotations

import numpy as np
from numba import njit

WORDS = 8  # of 64 bits, in a block


@njit(nogil=True, cache=True, inline="always")
def _turned(x, by):
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


@njit(nogil=True, cache=True, inline="always")
def _quarter(s, a, b, c, d):
    s[a] += s[b]
    s[d] = _turned(s[d] ^ s[a], 16)
    s[c] += s[d]
    s[b] = _turned(s[b] ^ s[c], 12)
    s[a] += s[b]
    s[d] = _turned(s[d] ^ s[a], 8)
    s[c] += s[d]
    s[b] = _turned(s[b] ^ s[c], 7)


@njit(nogil=True, cache=True)
def block(start, work, out):
    """Write the 16 words of 32 bits that follow from the 16 of ``start`` into ``out``."""
    for i in range(16):
        work[i] = start[i]
    for _ in range(10):
        _quarter(work, 0, 4, 8, 12)
        _quarter(work, 1, 5, 9, 13)
        _quarter(work, 2, 6, 10, 14)
        _quarter(work, 3, 7, 11, 15)
        _quarter(work, 0, 5, 10, 15)
        _quarter(work, 1, 6, 11, 12)
        _quarter(work, 2, 7, 8, 13)
        _quarter(work, 3, 4, 9, 14)
    for i in range(16):
        out[i] = work[i] + start[i]


@njit(nogil=True, cache=True, inline="always")
def _word(out, lane):
    return np.uint64(out[2 * lane]) | (np.uint64(out[2 * lane + 1]) << np.uint64(32))


@njit(nogil=True, cache=True)
def coins_below(start, addresses, turns, m, spare, out):
    """Write into ``out`` a uniform draw from 0, ..., m - 1 for each address and turn.

    ``start`` is a block's start with its constants and key; ``spare`` is 2**64 mod m. The words
    from 2**64 - spare on are thrown away, so every value that stays is equally likely; then the
    next block of the same address has a word in the same place.
    """
    start, work, words = start.copy(), np.empty(16, np.uint32), np.empty(16, np.uint32)
    for i in range(addresses.shape[0]):
        turn = turns[i]
        start[12] = np.uint32(0)
        start[13] = np.uint32(turn // np.uint64(WORDS))
        start[14] = np.uint32(addresses[i] & np.uint64(0xFFFFFFFF))
        start[15] = np.uint32(addresses[i] >> np.uint64(32))
        block(start, work, words)
        word = _word(words, turn % np.uint64(WORDS))
        while ~word < spare:
            start[12] += np.uint32(1)
            block(start, work, words)
            word = _word(words, turn % np.uint64(WORDS))
        out[i] = np.int64(word % m)


@njit(nogil=True, cache=True)
def coins_join(start, addresses, chances, m, spare, out):
    """Write into ``out[i, t]`` whether the draw of address i and turn t is below ``chances[i]``."""
    start, work = start.copy(), np.empty(16, np.uint32)
    words, later = np.empty(16, np.uint32), np.empty(16, np.uint32)
    for i in range(addresses.shape[0]):
        start[14] = np.uint32(addresses[i] & np.uint64(0xFFFFFFFF))
        start[15] = np.uint32(addresses[i] >> np.uint64(32))
        chance = np.uint64(chances[i])
        for t in range(out.shape[1]):
            lane = t % WORDS
            start[12] = np.uint32(0)
            if lane == 0:
                start[13] = np.uint32(t // WORDS)
                block(start, work, words)
            word = _word(words, lane)
            while ~word < spare:
                start[12] += np.uint32(1)
                block(start, work, later)
                word = _word(later, lane)
            out[i, t] = word % m < chance

"""Exact samplers in integer arithmetic: coins, discrete Laplace, discrete Gaussian, selection.

Every function reads bytes of a buffer from a position on and returns the position after. Beyond the
end a byte reads as 255: then `flip` says no as soon as it can, so every coin ends, and the loops
around coins look at the position themselves. What came of such bytes is thrown away by the kernels.
All numbers are int64; the callers in `noise` and `selection` check the ranges in which nothing
overflows. The proofs are in docs/privacy/noise.md and docs/privacy/selection.md.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpforest.arrays import Integers

Bytes = NDArray[np.uint8]


def _compiled(function: Any) -> Any:
    return njit(cache=True, nogil=True)(function)


@_compiled
def _byte(buffer: Bytes, pos: int) -> np.int64:
    if pos < buffer.size:
        return np.int64(buffer[pos])
    return np.int64(255)


@_compiled
def below(buffer: Bytes, pos: int, m: int) -> tuple[int, int]:
    """Uniform on 0, ..., m - 1 for 1 <= m <= 2**62: enough bits, thrown away while >= m."""
    mask = m - 1
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    while True:
        value, rest = 0, mask
        while rest > 0:
            value = (value << 8) | _byte(buffer, pos)
            pos += 1
            rest >>= 8
        value &= mask
        if value < m or pos > buffer.size:
            return min(value, m - 1), pos


@_compiled
def flip(buffer: Bytes, pos: int, n: int, d: int) -> tuple[bool, int]:
    """Bernoulli(n / d) for n >= 0, 0 < d < 2**55: is U < n / d, reading U byte by byte."""
    while True:
        # In units of 1/256: what is left of n / d once the first byte of U is taken away.
        rest = (n << 8) - _byte(buffer, pos) * d
        pos += 1
        if rest <= 0:
            return False, pos
        if rest >= d:
            return True, pos
        n = rest


@_compiled
def _alternate(buffer: Bytes, pos: int, k: int) -> tuple[bool, int]:
    """Bernoulli(1 - 1/k + 1/(k(k+1)) - ...): is a run of coins 1/k, 1/(k+1), ... of even length."""
    first = k
    while True:
        hit, pos = flip(buffer, pos, 1, k)
        if not hit:
            return (k - first) & 1 == 0, pos
        k += 1


@_compiled
def _flip_inverse_e(buffer: Bytes, pos: int) -> tuple[bool, int]:
    """Bernoulli(1/e), and 1 - 1/e = 1 - 1/2 + 1/6 - ..."""
    hit, pos = _alternate(buffer, pos, 2)
    return not hit, pos


@_compiled
def _flip_two_over_e(buffer: Bytes, pos: int) -> tuple[bool, int]:
    """Bernoulli(2/e), and 1 - 2/e = (1/3) (1 - 1/4 + 1/20 - ...)."""
    hit, pos = flip(buffer, pos, 1, 3)
    if hit:
        hit, pos = _alternate(buffer, pos, 4)
    return not hit, pos


@_compiled
def flip_exp(buffer: Bytes, pos: int, n: int, d: int) -> tuple[bool, int]:
    """Bernoulli(exp(-n / d)) for n >= 0, 0 < d < 2**55 (Canonne, Kamath, Steinke, algorithm 1)."""
    while n >= d:
        hit, pos = _flip_inverse_e(buffer, pos)
        if not hit:
            return False, pos
        n -= d
    if n == 0:
        return True, pos
    k = 1
    while True:
        hit, pos = flip(buffer, pos, n, d)
        if hit and k > 1:
            hit, pos = flip(buffer, pos, 1, k)
        if not hit:
            return k & 1 == 1, pos
        k += 1


@_compiled
def _one_laplace(buffer: Bytes, pos: int, s: int, t: int) -> tuple[int, int]:
    while pos <= buffer.size:
        u, pos = below(buffer, pos, s)
        hit, pos = flip_exp(buffer, pos, u, s)
        if not hit:
            continue
        x = u
        hit, pos = _flip_inverse_e(buffer, pos)
        while hit:
            x += s
            hit, pos = _flip_inverse_e(buffer, pos)
        y = x // t if t > 1 else x
        negative = _byte(buffer, pos) & 1
        pos += 1
        # Zero has one sign only, else it would come twice as often as it should.
        if not (negative and y == 0):
            return (-y if negative else y), pos
    return 0, pos


@_compiled
def laplace(buffer: Bytes, out: Integers, done: int, s: int, t: int) -> tuple[int, int]:
    """Fill `out` from `done` on with P(x) ~ exp(-|x| t / s); 1 <= s, t <= 2**40."""
    used = 0
    for i in range(done, out.size):
        value, pos = _one_laplace(buffer, used, s, t)
        if pos > buffer.size:
            return i, used
        out[i], used = value, pos
    return out.size, used


@_compiled
def _one_gaussian(buffer: Bytes, pos: int, m: int, b: int, d: int) -> tuple[int, int]:
    square = m * m * b
    while pos <= buffer.size:
        k = 0
        hit, pos = flip_exp(buffer, pos, square, d)
        while hit and pos <= buffer.size:
            k += 1
            hit, pos = flip_exp(buffer, pos, square, d)
        # One coin at a time: the product k (k - 1) m^2 b could overflow.
        turns, hit = k * (k - 1), True
        while hit and turns > 0:
            hit, pos = flip_exp(buffer, pos, square, d)
            turns -= 1
        if not hit:
            continue
        j, pos = below(buffer, pos, m)
        hit, pos = flip_exp(buffer, pos, (2 * k * m + j) * j * b, d)
        if not hit:
            continue
        x = k * m + j
        negative = _byte(buffer, pos) & 1
        pos += 1
        if not (negative and x == 0):
            return (-x if negative else x), pos
    return 0, pos


@_compiled
def gaussian(buffer: Bytes, out: Integers, done: int, m: int, b: int, d: int) -> tuple[int, int]:
    """Fill `out` from `done` on with P(x) ~ exp(-b x^2 / d), where b m^2 <= d <= 2**47 or m = 1."""
    used = 0
    for i in range(done, out.size):
        value, pos = _one_gaussian(buffer, used, m, b, d)
        if pos > buffer.size:
            return i, used
        out[i], used = value, pos
    return out.size, used


@_compiled
def _exponent(gap: int, num: int, den: int) -> tuple[int, int]:
    """Whole part and remainder (over den) of gap * num / den; num < 2**31, num * den < 2**62."""
    whole, rest = 0, gap
    if gap >= 1 << 31:
        turns = gap // den
        # No machine ever comes to the end of a run of 2**62 coins, so the cap changes nothing.
        whole = turns * num if turns < 1 << 31 else 1 << 62
        rest = gap - turns * den
    return whole + (rest * num) // den, (rest * num) % den


@_compiled
def _flip_exponent(buffer: Bytes, pos: int, whole: int, rest: int, den: int) -> tuple[bool, int]:
    while whole > 0:
        hit, pos = _flip_inverse_e(buffer, pos)
        if not hit:
            return False, pos
        whole -= 1
    hit, pos = flip_exp(buffer, pos, rest, den)
    return hit, pos


@_compiled
def permute_and_flip(
    buffer: Bytes, out: Integers, done: int, utilities: NDArray[np.int64], num: int, den: int
) -> tuple[int, int]:
    """Choose a column of each row: random order, the first to win a coin exp(-rate * gap)."""
    used = 0
    n = utilities.shape[1]
    order = np.empty(n, np.int64)
    for row in range(done, utilities.shape[0]):
        best = utilities[row, 0]
        for j in range(n):
            best = max(best, utilities[row, j])
            order[j] = j
        pos, left, hit, i = used, n, False, 0
        while left > 0 and not hit:
            pick, pos = below(buffer, pos, left)
            i = order[pick]
            left -= 1
            order[pick] = order[left]
            whole, rest = _exponent(best - utilities[row, i], num, den)
            hit, pos = _flip_exponent(buffer, pos, whole, rest, den)
        if pos > buffer.size:
            return row, used
        out[row], used = i, pos
    return out.size, used


@_compiled
def _tickets(weight: int, whole: int, cap: int) -> tuple[int, int, int]:
    """Split weight * 2**cap / 2**whole: (halvings taken, tickets, halvings lost to rounding up)."""
    if whole <= cap:
        return whole, weight << (cap - whole), 0
    lost = 0
    while lost < whole - cap and weight >> lost > 0:
        lost += 1
    return cap + lost, (weight + (1 << lost) - 1) >> lost, lost


@_compiled
def _accept(
    buffer: Bytes, pos: int, weight: int, gap: int, cap: int, num: int, den: int
) -> tuple[bool, int]:
    """Bernoulli(weight * 2**cap * exp(-gap * num / den) / tickets)."""
    whole, rest = _exponent(gap, num, den)
    halvings, tickets, lost = _tickets(weight, whole, cap)
    for _ in range(halvings):
        hit, pos = _flip_two_over_e(buffer, pos)
        if not hit:
            return False, pos
    if lost > 0:
        hit, pos = flip(buffer, pos, weight, tickets << lost)
        if not hit:
            return False, pos
    hit, pos = _flip_exponent(buffer, pos, whole - halvings, rest, den)
    return hit, pos


@_compiled
def exponential(
    buffer: Bytes,
    out: Integers,
    done: int,
    utilities: NDArray[np.int64],
    weights: NDArray[np.int64],
    cap: int,
    num: int,
    den: int,
) -> tuple[int, int]:
    """Choose a column of each row: P(i) ~ weight_i exp(-rate * gap_i); weights << cap < 2**61."""
    used = 0
    n = utilities.shape[1]
    gaps, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    for row in range(done, utilities.shape[0]):
        weight = weights[min(row, weights.shape[0] - 1)]
        best = -(1 << 62)
        for i in range(n):
            if weight[i] > 0:
                best = max(best, utilities[row, i])
        total = 0
        for i in range(n):
            if weight[i] > 0:
                gaps[i] = best - utilities[row, i]
                whole, _ = _exponent(gaps[i], num, den)
                total += _tickets(weight[i], whole, cap)[1]
            ends[i] = total
        pos, hit, chosen = used, False, 0
        while not hit and pos <= buffer.size:
            ticket, pos = below(buffer, pos, total)
            chosen = np.searchsorted(ends, ticket, side="right")
            hit, pos = _accept(buffer, pos, weight[chosen], gaps[chosen], cap, num, den)
        if pos > buffer.size:
            return row, used
        out[row], used = chosen, pos
    return out.size, used

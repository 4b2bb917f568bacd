"""Private choice of a candidate: the exponential mechanism and permute-and-flip, sampled exactly.

Both prefer candidates of high utility. With the rate r = epsilon / (2 sensitivity), or
epsilon / sensitivity when the utility is monotone, and gap_i = (best utility) - (utility of i):

- the exponential mechanism takes i with probability proportional to weight_i exp(-r gap_i);
- permute-and-flip visits the candidates in random order and takes the first that wins a coin of
  probability exp(-r gap_i). It is never worse in expectation, and has no weights.

`docs/privacy/selection.md` has the proofs that both are epsilon-differentially private, and how
they are sampled in integer arithmetic.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import roots_legendre

from dpforest.privacy.mechanisms import noise_kernels
from dpforest.privacy.mechanisms.randomness import RandomBits

#: Utilities lie strictly between minus this and this.
UTILITY_LIMIT = 1 << 61
#: The weights of a row add up to less than this.
WEIGHT_LIMIT = 1 << 53


def exponential_mechanism(
    utilities: ArrayLike,
    *,
    epsilon: Fraction | float,
    sensitivity: Fraction | int,
    monotone: bool,
    bits: RandomBits,
    weights: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Choose a candidate with probability proportional to weight * exp(rate * utility).

    Parameters
    ----------
    utilities : array-like of int, shape (..., n_candidates)
        One choice is made for each row. Below 2**61 in size.
    epsilon : Fraction or float
        The price of the choice of one row. ``math.inf`` takes the best, the first among equals.
    sensitivity : Fraction or int
        Most that a neighbouring table changes any utility.
    monotone : bool
        Whether an added record moves no two utilities of a row in opposite directions; the same
        price then buys twice the rate. Never so when records are replaced.
    bits : RandomBits
        Where the randomness comes from.
    weights : array-like of int, shape (n_candidates,) or that of utilities, optional
        Public base measure, such as the lengths of intervals. 0: not a candidate. A row's weights
        add up to at least 1 and less than 2**53.

    Returns
    -------
    ndarray of int64, shape (...)
        Index of the chosen candidate.

    Examples
    --------
    >>> exponential_mechanism(
    ...     [[0, 90, 3], [70, 1, 2]], epsilon=1, sensitivity=1, monotone=True, bits=RandomBits(0)
    ... ).tolist()
    [1, 0]
    """
    table, shape = _rows(utilities)
    measure = _weights(weights, table, shape)
    if math.isinf(epsilon):
        hidden = np.where(measure > 0, table, np.iinfo(np.int64).min)
        return np.asarray(hidden.argmax(axis=-1), dtype=np.int64).reshape(shape)
    rate = selection_rate(epsilon, sensitivity, monotone=monotone)
    cap = 61 - int(measure.sum(axis=-1).max()).bit_length()
    out = np.empty(table.shape[0], dtype=np.int64)

    def draw(buffer: NDArray[np.uint8], done: int) -> tuple[int, int]:
        done, used = noise_kernels.exponential(
            buffer, out, done, table, measure, cap, rate.numerator, rate.denominator
        )
        return done, used

    bits.feed(draw, out.size, 32)
    return out.reshape(shape)


def permute_and_flip(
    utilities: ArrayLike,
    *,
    epsilon: Fraction | float,
    sensitivity: Fraction | int,
    monotone: bool,
    bits: RandomBits,
) -> NDArray[np.int64]:
    """Choose the first candidate, in random order, that wins a coin exp(-rate * gap).

    Parameters and result are those of `exponential_mechanism`, without weights.

    Examples
    --------
    >>> permute_and_flip(
    ...     [[0, 90, 3], [70, 1, 2]], epsilon=1, sensitivity=1, monotone=True, bits=RandomBits(0)
    ... ).tolist()
    [1, 0]
    """
    table, shape = _rows(utilities)
    if math.isinf(epsilon):
        return np.asarray(table.argmax(axis=-1), dtype=np.int64).reshape(shape)
    rate = selection_rate(epsilon, sensitivity, monotone=monotone)
    out = np.empty(table.shape[0], dtype=np.int64)

    def draw(buffer: NDArray[np.uint8], done: int) -> tuple[int, int]:
        done, used = noise_kernels.permute_and_flip(
            buffer, out, done, table, rate.numerator, rate.denominator
        )
        return done, used

    bits.feed(draw, out.size, 4 * table.shape[1] + 8)
    return out.reshape(shape)


def exponential_probabilities(
    utilities: ArrayLike,
    *,
    epsilon: Fraction | float,
    sensitivity: Fraction | int,
    monotone: bool,
    weights: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return the exact output distribution of `exponential_mechanism`, in double precision.

    Examples
    --------
    >>> exponential_probabilities([1, 1], epsilon=1, sensitivity=1, monotone=True).tolist()
    [0.5, 0.5]
    """
    table, shape = _rows(utilities)
    measure = np.broadcast_to(_weights(weights, table, shape), table.shape)
    if math.isinf(epsilon):
        return _certain(np.where(measure > 0, table, np.iinfo(np.int64).min), shape)
    rate = selection_rate(epsilon, sensitivity, monotone=monotone)
    best = np.where(measure > 0, table, -UTILITY_LIMIT).max(axis=-1, keepdims=True)
    # A hidden candidate may beat the best visible one: its coin would overflow, its weight is 0.
    mass = measure * np.exp(-float(rate) * np.maximum(best - table, 0))
    return np.asarray(mass / mass.sum(axis=-1, keepdims=True)).reshape(*shape, -1)


def permute_and_flip_probabilities(
    utilities: ArrayLike,
    *,
    epsilon: Fraction | float,
    sensitivity: Fraction | int,
    monotone: bool,
) -> NDArray[np.float64]:
    """Return the exact output distribution of `permute_and_flip`, in double precision.

    Give every candidate a uniform arrival time: i is taken when it wins its coin p_i at time t and
    no earlier arrival won, so P(i) = p_i * integral over t in [0, 1] of prod_{j != i} (1 - t p_j).
    The integrand is a polynomial of degree n - 1, which Gauss-Legendre integrates without error.

    Examples
    --------
    >>> permute_and_flip_probabilities([2, 2], epsilon=1, sensitivity=1, monotone=True).tolist()
    [0.5, 0.5]
    """
    table, shape = _rows(utilities)
    if math.isinf(epsilon):
        return _certain(table, shape)
    rate = selection_rate(epsilon, sensitivity, monotone=monotone)
    coins = np.exp(-float(rate) * (table.max(axis=-1, keepdims=True) - table))
    nodes, node_weights = roots_legendre((table.shape[1] + 1) // 2)
    total = np.zeros(coins.shape)
    for node, weight in zip((nodes + 1) / 2, node_weights / 2, strict=True):
        lost = 1 - node * coins
        total += weight * np.prod(lost, axis=-1, keepdims=True) / lost
    return np.asarray(coins * total).reshape(*shape, -1)


def selection_rate(
    epsilon: Fraction | float, sensitivity: Fraction | int, *, monotone: bool
) -> Fraction:
    """Return epsilon / sensitivity (monotone) or half of it, rounded down to what the kernels take.

    Rounding down costs a little utility and never privacy. Fractions with a numerator below 2**31
    and a denominator below 2**31 stay as they are; others lose at most one part in 2**15 (rates
    above 2**-30), for most less than one in 2**25.

    Examples
    --------
    >>> selection_rate(Fraction(1, 2), 3, monotone=False)
    Fraction(1, 12)
    """
    if not (0 < epsilon < math.inf and sensitivity > 0):
        raise ValueError(
            "epsilon and sensitivity must be above 0, and sensitivity finite, "
            f"got epsilon={epsilon} and sensitivity={sensitivity}."
        )
    exact = Fraction(epsilon) / Fraction(sensitivity) / (1 if monotone else 2)
    if _fits(exact):
        return exact
    for digits in range(54, -1, -1):
        rate = Fraction(math.floor(exact * (1 << digits)), 1 << digits)
        if rate and _fits(rate):
            return rate
    raise ValueError(
        f"epsilon={float(epsilon)} at sensitivity {sensitivity} is out of the range of the "
        "sampler (a rate between 2**-54 and 2**31). Use a coarser grid for the utility."
    )


def _fits(rate: Fraction) -> bool:
    """Whether no product in the kernels can overflow."""
    n, d = rate.numerator, rate.denominator
    return n < 1 << 31 and d <= 1 << 54 and n * d < 1 << 62


def _rows(utilities: ArrayLike) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return utilities as a contiguous table of rows, and the shape of the result."""
    table = np.asarray(utilities)
    if table.ndim == 0 or table.shape[-1] == 0 or table.dtype.kind not in "iu":
        raise ValueError(
            "utilities must be integers with at least one candidate on the last axis; "
            "scale real utilities to an integer grid first."
        )
    rows = np.ascontiguousarray(table.reshape(-1, table.shape[-1]), dtype=np.int64)
    if rows.size and (rows.max() >= UTILITY_LIMIT or rows.min() <= -UTILITY_LIMIT):
        raise ValueError(
            "utilities must lie strictly between -2**61 and 2**61; use a coarser grid."
        )
    return rows, table.shape[:-1]


def _weights(
    weights: ArrayLike | None, table: NDArray[np.int64], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return weights as one row for all, or one row each."""
    if weights is None:
        return np.ones((1, table.shape[1]), dtype=np.int64)
    measure = np.asarray(weights)
    if measure.shape not in ((table.shape[1],), (*shape, table.shape[1])):
        raise ValueError(
            "weights must have one entry a candidate, or the shape of utilities, "
            f"got shape {measure.shape} for {table.shape[1]} candidates."
        )
    rows = np.ascontiguousarray(measure.reshape(-1, table.shape[1]), dtype=np.int64)
    totals = rows.astype(np.float64).sum(axis=-1)
    if measure.dtype.kind not in "iu" or (rows < 0).any() or (totals < 1).any():
        raise ValueError("weights must be integers, not negative, and not all 0 in a row.")
    if (totals >= WEIGHT_LIMIT).any():
        raise ValueError("the weights of a row must add up to less than 2**53; use a coarser grid.")
    return rows


def _certain(table: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    chosen = np.zeros(table.shape)
    np.put_along_axis(chosen, table.argmax(axis=-1, keepdims=True), 1.0, axis=-1)
    return chosen.reshape(*shape, -1)

"""Search for products of small strategies and rows below the identity: costs no privacy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from dpforest.arrays import Values
from dpforest.privacy.mechanisms.strategies.matrices import Kronecker, Order, PIdentity
from dpforest.trees.workloads.linear import Workload

GRID_BITS = 12  # a weight is rounded to one part in 4096 of the largest
PRODUCT_BITS = 18  # for all factors of a product together
FLOOR = 1e-9
HUGE_LOG_ERROR = 1e3
LARGEST_ROW = 1e4  # over the identity; beyond it the differences below lose all digits


def best_kronecker(workload: Workload, order: Order, p: int = 1, sweeps: int = 3) -> Kronecker:
    """A Kronecker product of p-Identity strategies, one attribute optimised at a time.

    With the other factors fixed, the error is that of a small workload over one attribute
    (`Workload.partial_gram`), to which `best_rows` is applied.
    """
    factors: list[Values] = [np.eye(n) for n in workload.domain]
    inverses: list[Values] = [np.eye(n) for n in workload.domain]
    for _ in range(sweeps):
        for i in range(len(factors)):
            gram = workload.partial_gram(i, inverses)
            factors[i] = _p_identity(best_rows(gram, order, p), order)
            inverses[i] = linalg.inv(factors[i].T @ factors[i])
    bits = max(3, min(GRID_BITS, PRODUCT_BITS // len(factors)))
    return Kronecker(tuple(_small_integers(f, bits, order) for f in factors))


def _small_integers(factor: Values, bits: int, order: Order) -> NDArray[np.int64]:
    """Round to a grid, without the rows that vanish; an identity stays one."""
    n = factor.shape[1]
    whole = np.rint(factor * 2**bits / np.abs(factor).max()).astype(np.int64)
    np.fill_diagonal(whole[:n], np.maximum(whole.diagonal(), 1))
    whole = whole[whole.any(axis=1)]
    divisor = int(np.gcd.reduce(whole[whole > 0]))
    return np.asarray(whole // divisor)


def best_rows(gram: Values, order: Order, p: int, seed: int = 0) -> Values:
    """The p rows below the identity with the least error for a Gram matrix W^T W, by L-BFGS.

    The strategy is A = [I; R] with every column divided by its norm, so that the norm is 1 and
    R >= 0 is free (McKenna et al. 2018). One step costs p n^2.
    """
    n = len(gram)
    rng = np.random.default_rng(seed)

    def value(flat: Values) -> tuple[float, Values]:
        rows = flat.reshape(p, n)
        norms, norm_slope = _column_norms(rows, order)
        small = linalg.inv(np.eye(p) + rows @ rows.T)
        left = rows.T @ small  # n x p; (I + R^T R)^-1 = I - left R
        scaled = gram * np.outer(norms, norms)
        half = scaled - left @ (rows @ scaled)
        error = float(np.trace(half))
        if error <= 0:  # nothing but rounding is left
            return HUGE_LOG_ERROR, np.zeros(p * n)
        inner = half - (half @ rows.T) @ left.T
        by_norms = 2 * ((gram * norms) * (np.eye(n) - left @ rows)).sum(axis=1)
        slope = -2 * rows @ inner + norm_slope * by_norms
        return float(np.log(error)), (slope / error).ravel()

    found = np.zeros((p, n))
    least = value(found.ravel())[0] - FLOOR
    for size in (1.0, 1.0 / n):
        result = optimize.minimize(
            value,
            size * rng.random(p * n),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, LARGEST_ROW)] * (p * n),
            options={"maxiter": 100},
        )
        if result.fun < least:
            found, least = result.x.reshape(p, n), result.fun
    return found


def _column_norms(rows: Values, order: Order) -> tuple[Values, Values]:
    """The norms of the columns of [I; R], and how they change with R."""
    if order == 1:
        return 1 + rows.sum(axis=0), np.ones_like(rows)
    norms = np.sqrt(1 + (rows**2).sum(axis=0))
    return norms, rows / norms


def _p_identity(rows: Values, order: Order) -> Values:
    """[I; R] with columns of norm 1."""
    stacked = np.vstack([np.eye(rows.shape[1]), rows])
    return stacked / _column_norms(rows, order)[0]


def best_p_identity(workload: Workload, order: Order, p: int | None = None) -> PIdentity:
    """A p-Identity strategy over the cells of a small domain; p is a sixteenth of them."""
    matrix = workload.matrix()
    gram: Values = (matrix.T @ matrix).toarray()
    n = len(gram)
    return _rounded_p_identity(
        workload.domain, sparse.csr_array(best_rows(gram, order, p or max(1, n // 16))), order
    )


def best_mixture(workload: Workload, order: Order) -> PIdentity:
    """The identity with the workload's own rows below it, all multiplied by the best factor.

    Good for few queries, which then need not be pieced together from cells. One number is
    searched for, and each try costs an inverse of the size of the queries.
    """
    rows = _distinct_rows(workload.matrix())
    largest = (
        float(rows.sum(axis=0).max())
        if order == 1
        else float(np.sqrt(rows.power(2).sum(axis=0).max()))
    )

    def candidate(factor: float) -> PIdentity:
        return _rounded_p_identity(workload.domain, rows * (factor / largest), order)

    def error(log_factor: float) -> float:
        strategy = candidate(float(np.exp(log_factor)))
        return float(np.log(strategy.norm(order)) * (3 - order) + np.log(strategy.error(workload)))

    grid = np.log([0.3, 1.0, 3.0, 10.0, 50.0])
    return candidate(float(np.exp(min(grid, key=error))))


def _distinct_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Each row once; repeated queries are the same measurement."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    borders = matrix.indptr
    seen = {
        (matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()): i
        for i, (a, b) in enumerate(pairwise(borders))
    }
    return matrix[sorted(seen.values())]


def _rounded_p_identity(domain: tuple[int, ...], rows: sparse.csr_array, order: Order) -> PIdentity:
    """Divide columns by their norms and round to the grid."""
    if order == 1:
        norms = 1 + np.asarray(rows.sum(axis=0)).ravel()
    else:
        norms = np.sqrt(1 + np.asarray(rows.power(2).sum(axis=0)).ravel())
    diagonal = np.maximum(np.rint(2**GRID_BITS / norms), 1).astype(np.int64)
    scaled = rows @ sparse.diags_array(2**GRID_BITS / norms)
    whole = sparse.csr_array(scaled)
    whole.data = np.rint(whole.data)
    whole.eliminate_zeros()
    return PIdentity(domain, diagonal, whole.astype(np.int64))

"""What compiled loops learn from a round is what plain NumPy learns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.trees import learning_kernels as kernels
from dpforest.trees.cut_effects import between_ends


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_walshs_transform_is_its_matrix(depth, n_outputs):
    sums = np.random.default_rng(0).normal(size=(3, 2**depth, n_outputs))
    matrix = np.ones((1, 1))
    for _ in range(depth):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    expected = np.einsum("ab,tbk->tak", matrix, sums)
    kernels.transform(sums)
    np.testing.assert_allclose(sums, expected)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 20), st.integers(1, 9), st.integers(1, 3))
def test_rows_are_added_to_their_things(seed, n, n_weights, n_outputs):
    rng = np.random.default_rng(seed)
    thing, rows = rng.integers(0, 4, n), rng.normal(size=(n, n_weights))
    seen = rng.normal(size=(n, n_outputs))
    precision, pull = np.zeros((4, n_weights, n_weights)), np.zeros((4, n_weights, n_outputs))
    kernels.add_rows(thing, rows, seen, precision, pull)
    for j in range(4):
        of_thing = thing == j
        np.testing.assert_allclose(precision[j], rows[of_thing].T @ rows[of_thing], atol=1e-12)
        np.testing.assert_allclose(pull[j], rows[of_thing].T @ seen[of_thing], atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_pairs_of_cuts_are_read_in_the_order_of_their_features(seed, depth):
    rng = np.random.default_rng(seed)
    feature, cut = rng.integers(0, 4, (2, depth)), rng.integers(-1, 5, (2, depth))
    end = np.where(rng.random((2, depth)) < 0.5, -1, rng.integers(0, 5, (2, depth)))
    contrasts, curves = rng.normal(size=(2, 2**depth, 2)), rng.normal(size=(4, 5, 3))
    number = rng.permutation(16).reshape(4, 4)
    which, rows, seen = np.empty(30, np.int64), np.empty((30, 9)), np.empty((30, 2))
    n = kernels.pair_rows(feature, cut, end, contrasts, curves, number, which, rows, seen)
    expected = []
    for t in range(2):
        for one in range(depth):
            for other in range(one + 1, depth):
                a, b = sorted([one, other], key=lambda level: feature[t, level])
                f, c, e = (of_levels[t, [a, b]] for of_levels in (feature, cut, end))
                if f[0] != f[1] and c.min() >= 0:
                    first, second = between_ends(curves, f, c, e)
                    both = contrasts[t, 2**one + 2**other]
                    expected.append((number[f[0], f[1]], np.outer(first, second).ravel(), both))
    assert n == len(expected)
    for i, (pair, row, both) in enumerate(expected):
        assert which[i] == pair
        np.testing.assert_allclose(rows[i], row)
        np.testing.assert_array_equal(seen[i], both)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 12), st.floats(0.1, 10.0))
def test_weights_are_what_inverting_gives(seed, n_weights, n_rows, noise):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3, n_rows, n_weights))
    precision, pull = rows.swapaxes(1, 2) @ rows, rng.normal(size=(3, n_weights, 2))
    firm = np.maximum(0.5, 0.1 * np.trace(precision, axis1=1, axis2=2) / (n_weights * noise))
    inverse = np.linalg.inv(precision / noise + firm[:, None, None] * np.eye(n_weights))
    means, covariances = np.empty_like(pull), np.empty_like(precision)
    kernels.solve(precision, pull, noise, 0.5, 0.1, means, covariances)
    np.testing.assert_allclose(covariances, inverse, atol=1e-10)
    np.testing.assert_allclose(means, inverse @ pull / noise, atol=1e-10)
    alone = np.empty_like(pull)
    kernels.solve(precision, pull, noise, 0.5, 0.1, alone, covariances[:0])
    np.testing.assert_array_equal(alone, means)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_energy_of_pairs_is_the_mean_square_of_what_their_curves_come_to(n_outputs):
    rng = np.random.default_rng(1)
    one, other = np.triu_indices(4, 1)
    weights, curves = rng.normal(size=(6, 3, 3, n_outputs)), rng.normal(size=(4, 5, 3))
    spread = curves.swapaxes(1, 2) @ curves / 5  # each of five cuts as often as the others
    signal, of_feature = np.zeros((4, 4)), np.zeros((4, 3, 3))
    kernels.add_energies(weights, one, other, spread, signal, of_feature)
    at_cuts = np.zeros((4, 5))
    for pair, (f, g) in enumerate(zip(one, other, strict=True)):
        squares = np.einsum("ci,dj,ijk->cdk", curves[f], curves[g], weights[pair]) ** 2
        assert signal[f, g] == signal[g, f] == pytest.approx(squares.sum() / 25)
        at_cuts[f] += squares.sum(axis=2).mean(axis=1)
        at_cuts[g] += squares.sum(axis=2).mean(axis=0)
    found = np.einsum("fci,fij,fcj->fc", curves, of_feature, curves)
    np.testing.assert_allclose(found, at_cuts)

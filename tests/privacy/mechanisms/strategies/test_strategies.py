"""Every strategy and workload against plain dense matrices on small domains."""

import numpy as np
import pytest
from scipy import sparse

from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.mechanisms.strategies import (
    ONE_COUNT,
    Change,
    Direct,
    Finer,
    Identity,
    Kronecker,
    PIdentity,
    WeightedMarginals,
    WeightedResiduals,
    expected_error,
    measured,
    noise_for,
)
from dpforest.trees.workloads import KroneckerUnion, Paths, Rows, Votes, marginals
from dpforest.trees.workloads.estimates import FullTable

DOMAIN = (3, 2, 4)
N_CELLS = 24


def random_paths(rng, n=30):
    cells = np.array([[rng.integers(-1, n) for n in DOMAIN] for _ in range(n)])
    return Paths(DOMAIN, cells)


def random_votes(rng):
    records = np.array([[rng.integers(n) for n in DOMAIN] for _ in range(7)])
    return Votes(DOMAIN, records, np.array([1, 3, 6]), rng.integers(0, 4, (7, 3)).astype(float))


def random_union(rng):
    terms = tuple(tuple(rng.random((rng.integers(1, 4), n)) for n in DOMAIN) for _ in range(2))
    return KroneckerUnion(DOMAIN, terms)


WORKLOADS = {
    "paths": random_paths,
    "votes": random_votes,
    "union": random_union,
    "marginals": lambda rng: marginals(DOMAIN, [(0,), (1, 2), ()]),
}


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param](np.random.default_rng(7))


def strategies():
    rng = np.random.default_rng(3)
    rows = sparse.csr_array(rng.integers(0, 3, (4, N_CELLS)))
    return {
        "identity": Identity(DOMAIN),
        "marginals": WeightedMarginals(DOMAIN, ((0, 1, 2), (0,), (1, 2), ()), (2, 3, 1, 4)),
        "finer": Finer(Identity(DOMAIN), 7),
        "residuals": WeightedResiduals(
            DOMAIN,
            ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)),
            (3, 2, 2, 1, 1, 4, 1, 1),
        ),
        "kronecker": Kronecker(
            # Columns of unequal norms: only the largest will do.
            tuple(np.vstack([5 * np.eye(n), 1 + np.arange(n)]).astype(int) for n in DOMAIN)
        ),
        "p_identity": PIdentity(DOMAIN, rng.integers(1, 5, N_CELLS), rows),
    }


def dense(strategy):
    """A, from what the strategy measures of each cell."""
    columns = []
    for cell in range(N_CELLS):
        x = np.zeros((N_CELLS, 1), np.int64)
        x[cell] = 1
        table = x.reshape(*DOMAIN, 1)
        tables = [
            table.sum(axis=tuple(i for i in range(3) if i not in subset))
            for subset in strategy.tables
        ]
        columns.append(strategy.measure(tables).ravel())
    return np.array(columns).T


@pytest.mark.parametrize("name", strategies())
def test_norms_and_error_are_those_of_the_dense_matrix(name, workload):
    strategy = strategies()[name]
    a, w = dense(strategy), workload.matrix().toarray()
    assert strategy.norm(1) == np.abs(a).sum(axis=0).max()
    assert strategy.norm(2) == (a**2).sum(axis=0).max()
    expected = np.linalg.norm(w @ np.linalg.pinv(a)) ** 2
    np.testing.assert_allclose(strategy.error(workload), expected, rtol=1e-9)


@pytest.mark.parametrize("name", strategies())
def test_answers_are_least_squares(name, workload):
    strategy = strategies()[name]
    a, w = dense(strategy), workload.matrix().toarray()
    y = np.random.default_rng(0).integers(-50, 50, (len(a), 2))
    np.testing.assert_allclose(
        strategy.answer(workload, y), w @ np.linalg.pinv(a) @ y, rtol=1e-8, atol=1e-8
    )


def test_workload_algebra_is_that_of_the_dense_matrix(workload):
    rng = np.random.default_rng(1)
    w = workload.matrix().toarray()
    assert workload.n_queries == len(w)
    assert workload.column_norm() >= np.floor(np.abs(w).sum(axis=0).max() + 1e-9)
    np.testing.assert_allclose(workload.energies().sum(), (w**2).sum())
    inverses = []
    for n in DOMAIN:
        m = rng.random((n, n))
        inverses.append(m @ m.T)
    x = np.kron(np.kron(inverses[0], inverses[1]), inverses[2])
    error = workload.product_error(inverses)
    np.testing.assert_allclose(error, np.trace(w @ x @ w.T))
    for i in range(3):
        np.testing.assert_allclose(
            np.trace(workload.partial_gram(i, inverses) @ inverses[i]), error
        )
    table = rng.random((*DOMAIN, 2))
    np.testing.assert_allclose(workload.answer(FullTable(table)), w @ table.reshape(N_CELLS, 2))


def test_rows_over_a_flat_domain():
    rng = np.random.default_rng(2)
    w = rng.integers(0, 3, (5, 9)).astype(float)
    workload = Rows(sparse.csr_array(w))
    np.testing.assert_allclose(workload.energies().sum(), (w**2).sum())
    np.testing.assert_allclose(workload.product_error([np.eye(9)]), (w**2).sum())
    assert workload.column_norm() == w.sum(axis=0).max()
    table = rng.random((9, 2))
    np.testing.assert_allclose(workload.answer(FullTable(table)), w @ table)


def test_direct_answers_are_the_queries_themselves(workload):
    if not np.allclose(workload.matrix().toarray() % 1, 0):
        with pytest.raises(ValueError, match="queries with fractions"):
            Direct(workload)
        return
    strategy = Direct(workload)
    table = np.random.default_rng(5).integers(0, 9, (*DOMAIN, 2))
    tables = [
        table.sum(axis=tuple(i for i in range(3) if i not in subset)) for subset in strategy.tables
    ]
    exact = workload.matrix().toarray() @ table.reshape(N_CELLS, 2)
    np.testing.assert_array_equal(strategy.measure(tables), exact)
    np.testing.assert_array_equal(strategy.answer(workload, strategy.measure(tables)), exact)


def test_noise_of_direct_answers_is_for_the_largest_column(workload):
    w = np.abs(workload.matrix().toarray())
    if not workload.whole:
        return
    assert Direct(workload).norm(1) >= w.sum(axis=0).max()
    assert Direct(workload).norm(2) >= (w**2).sum(axis=0).max()
    assert Direct(workload, sensitivity=99).norm(2) == 99**2


def test_tables_of_another_shape_are_refused():
    """Their cells would be weighted by more rows than the norm counts."""
    strategy = strategies()["marginals"]
    tables = [np.ones((*(DOMAIN[i] for i in s), 2), np.int64) for s in strategy.tables]
    assert measured(strategy, tables, 2).shape == (24 + 3 + 8 + 1, 2)
    for wrong in (np.ones((3, 2, 4, 3), int), np.ones((3, 2, 8, 2), int), np.ones((24, 2), int)):
        with pytest.raises(ValueError, match="nothing was released"):
            measured(strategy, [wrong, *tables[1:]], 2)


@pytest.mark.parametrize("name", strategies())
@pytest.mark.parametrize("price", [Pure("1/2"), Gaussian(0.5)], ids=str)
@pytest.mark.parametrize("steps", [1, 2, 6])
@pytest.mark.parametrize("change", [ONE_COUNT, Change(2, 4), Change(2, 2)], ids=str)
def test_noise_is_for_the_worst_pair_of_neighbours_and_hardly_more(name, price, steps, change):
    """Steps records of the heaviest column, each with the largest change of its classes."""
    strategy = strategies()[name]
    made = noise_for(strategy, price, steps, change).made
    a = np.abs(dense(strategy))
    if isinstance(price, Pure):
        assert made.sensitivity == steps * change.l1 * a.sum(axis=0).max()
        assert made.scale >= made.sensitivity / price.epsilon
    else:
        worst = steps * np.sqrt(change.l2_squared * (a**2).sum(axis=0).max())
        assert made.sensitivity == pytest.approx(worst, rel=1e-14)
        assert made.sensitivity >= worst
        assert made.sigma2 - 4 >= (made.sensitivity / price.mu) ** 2 * (1 - 1e-14)


def test_unmeasured_queries_have_infinite_error():
    strategy = WeightedMarginals(DOMAIN, ((0,),), (1,))
    assert strategy.error(marginals(DOMAIN, [(1,)])) == float("inf")


def test_noise_costs_no_more_than_the_price_and_scales_with_steps_and_changes():
    strategy = strategies()["marginals"]
    price = Pure("3/10")
    pure = noise_for(strategy, price, steps=2, change=Change(2, 2))
    assert pure.loss.epsilon <= price.epsilon
    assert pure.parameter >= 4 * strategy.norm(1) / price.epsilon
    gaussian = noise_for(strategy, Gaussian(0.5), steps=2, change=Change(2, 2))
    assert gaussian.loss.mu <= 0.5
    assert gaussian.parameter >= 4 * 2 * strategy.norm(2) / 0.25
    workload = marginals(DOMAIN, [(0,)])
    assert expected_error(workload, strategy, Pure("inf")) == 0.0
    assert expected_error(workload, strategy, Pure(10**9)) == 0.0


def test_the_norm_of_many_factors_does_not_wrap_around():
    factor = np.array([[300, 0], [0, 300], [200, 200]])
    assert Kronecker((factor,) * 12).norm(2) == (300**2 + 200**2) ** 12

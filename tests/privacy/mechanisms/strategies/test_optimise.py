"""Searches for strategies: gradients, known optima, and never worse than what they start from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.mechanisms.strategies import Identity, choose_strategy, expected_error
from dpforest.privacy.mechanisms.strategies.choose import STRATEGIES, build_strategy
from dpforest.privacy.mechanisms.strategies.optimise import (
    best_kronecker,
    best_mixture,
    best_p_identity,
    best_rows,
)
from dpforest.privacy.mechanisms.strategies.optimise_marginals import (
    _MarginalSearch,
    best_marginals,
    best_residuals,
)
from dpforest.trees.workloads import Paths, Rows, Votes, marginals
from dpforest.trees.workloads.lattice import attributes_of, product_over, subset_index

DOMAIN = (3, 4, 2)


def tree_like(rng, domain=DOMAIN, depth=2, trees=6):
    """The leaves of trees that take a random pair of attributes each."""
    cells = []
    for _ in range(trees):
        chosen = rng.permutation(len(domain))[:depth]
        for values in np.ndindex(*(domain[i] for i in chosen)):
            cell = np.full(len(domain), -1)
            cell[chosen] = values
            cells.append(cell)
    return Paths(domain, np.array(cells))


def total_error(strategy, workload, order):
    return strategy.norm(order) ** (3 - order) * strategy.error(workload)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_the_marginal_search(order):
    workload = tree_like(np.random.default_rng(0))
    allowed = np.ones(8, bool)
    search = _MarginalSearch([3.0, 4.0, 2.0], workload.energies(), allowed, order)
    x = np.random.default_rng(1).random(8) + 0.1
    numeric = optimize.approx_fprime(x, lambda w: search._value(w)[0], 1e-7)
    np.testing.assert_allclose(search._value(x)[1], numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_best_rows_beat_the_identity_on_prefix_sums(order):
    prefix = np.tril(np.ones((32, 32)))
    gram = prefix.T @ prefix
    rows = best_rows(gram, order, 4)
    assert (rows >= 0).all()
    assert rows.any()
    a = np.vstack([np.eye(32), rows])
    norms = np.abs(a).sum(axis=0) if order == 1 else np.sqrt((a**2).sum(axis=0))
    a = a / norms
    assert np.trace(gram @ np.linalg.inv(a.T @ a)) < np.trace(gram)


def test_gaussian_residuals_reach_the_optimum_of_every_strategy():
    """All 2-way marginals: by symmetry the SVD bound is attained."""
    domain = (3, 3, 3, 3)
    workload = marginals(domain, [(i, j) for i in range(4) for j in range(i)])
    strategy = best_residuals(workload)
    singular = np.linalg.svd(workload.matrix().toarray(), compute_uv=False)
    bound = singular.sum() ** 2 / 81
    assert bound <= total_error(strategy, workload, 2) * (1 + 1e-9)
    assert total_error(strategy, workload, 2) <= bound * 1.0001
    assert total_error(best_marginals(workload, 2), workload, 2) >= bound


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_search_is_worse_than_the_identity_and_marginals_than_products(order, seed):
    rng = np.random.default_rng(seed)
    workload = tree_like(rng, depth=1 + seed % 2)
    identity = total_error(Identity(DOMAIN), workload, order)
    found = {
        "marginals": best_marginals(workload, order),
        "kronecker": best_kronecker(workload, order),
        "p_identity": best_p_identity(workload, order, 2),
    }
    for strategy in found.values():
        # Rounding to a coarse grid may cost a fraction of a per cent.
        assert total_error(strategy, workload, order) <= identity * 1.01


def test_few_queries_are_better_asked_than_pieced_together():
    rng = np.random.default_rng(3)
    rows = np.zeros((4, 200))
    for i in range(4):
        rows[i, rng.permutation(200)[:60]] = 1
    workload = Rows(sparse.csr_array(rows))
    mixture = best_mixture(workload, 1)
    assert total_error(mixture, workload, 1) < 0.5 * total_error(Identity((200,)), workload, 1)


@pytest.mark.parametrize("budget", [Pure(1), Gaussian(0.5)])
def test_the_choice_has_the_least_error_of_all_considered(budget):
    workload = tree_like(np.random.default_rng(5))
    choice = choose_strategy(workload, budget)
    assert choice.expected_error == min(choice.considered.values())
    assert set(choice.considered) >= {"identity", "laplace", "marginals", "kronecker"}
    for name in STRATEGIES:
        strategy = build_strategy(name, workload, 2 if isinstance(budget, Gaussian) else 1)
        assert expected_error(workload, strategy, budget) >= choice.expected_error * (1 - 1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    domain=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
    gaussian=st.booleans(),
)
def test_any_workload_finds_a_strategy_no_worse_than_the_identity(domain, seed, gaussian):
    rng = np.random.default_rng(seed)
    cells = np.array([[rng.integers(-1, n) for n in domain] for _ in range(rng.integers(1, 9))])
    workload = Paths(tuple(domain), cells)
    price = Gaussian(0.2) if gaussian else Pure("1/2")
    choice = choose_strategy(workload, price)
    assert 0 < choice.expected_error <= choice.considered["identity"] * (1 + 1e-9)
    w = workload.matrix().toarray()
    x = rng.integers(0, 5, (*domain, 2))
    d = len(domain)
    tables = [
        x.sum(axis=tuple(i for i in range(d) if i not in subset))
        for subset in choice.strategy.tables
    ]
    exact = w @ x.reshape(-1, 2)
    answers = choice.strategy.answer(workload, choice.strategy.measure(tables))
    np.testing.assert_allclose(answers, exact, atol=1e-6)


def test_one_tree_is_best_asked_directly():
    workload = tree_like(np.random.default_rng(5), depth=1, trees=1)
    assert choose_strategy(workload, Pure(1)).name in ("laplace", "marginals")
    assert choose_strategy(workload, Pure(1)).expected_error <= 2 * workload.n_queries


def test_a_large_domain_is_never_listed():
    domain = (10,) * 12
    workload = tree_like(np.random.default_rng(0), domain, depth=2, trees=5)
    choice = choose_strategy(workload, Pure(1), ("laplace", "marginals"))
    assert np.isfinite(choice.expected_error)
    assert choose_strategy(workload, Pure(1), ("identity", "laplace")).name == "laplace"
    with pytest.raises(ValueError, match="too large"):
        choose_strategy(workload, Pure(1), ("identity",))


def test_votes_on_a_large_domain_have_a_safe_column_norm():
    records = np.zeros((3, 12), np.int64)
    votes = Votes((10,) * 12, records, np.array([1, 2]), np.full((3, 2), 4.0))
    assert votes.column_norm() == 24


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="strategy must be one of"):
        build_strategy("magic", marginals((2, 2), [(0,)]), 1)


def test_lattice_indices_round_trip():
    for index in range(16):
        assert subset_index(attributes_of(index, 4), 4) == index
    np.testing.assert_array_equal(product_over([1, 2], [3, 5]), [2, 5, 6, 15])

"""Choose the strategy with the least expected error: a free choice, as the workload is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpforest.privacy.accounts.prices import LARGEST_DEVIATION
from dpforest.privacy.accounts.spends import Price
from dpforest.privacy.mechanisms.strategies.error import (
    TWO_HALVES,
    expected_error,
    noise_for,
    order_of,
)
from dpforest.privacy.mechanisms.strategies.matrices import (
    Direct,
    Finer,
    Identity,
    Order,
    Strategy,
)
from dpforest.privacy.mechanisms.strategies.optimise import (
    best_kronecker,
    best_mixture,
    best_p_identity,
)
from dpforest.privacy.mechanisms.strategies.optimise_marginals import (
    MAX_TABLE_CELLS,
    best_marginals,
    best_residuals,
)
from dpforest.trees.workloads.linear import Rows, Workload

StrategyName = Literal[
    "identity", "laplace", "marginals", "residuals", "kronecker", "p_identity", "mixture"
]
STRATEGIES: tuple[str, ...] = get_args(StrategyName)

# Beyond these a search would take longer than it is worth.
MAX_CELLS_FOR_P_IDENTITY = 64
MAX_QUERIES_FOR_MIXTURE = 400
MAX_ENTRIES = 1 << 17  # of a workload's matrix, for the mixture
MAX_ATTRIBUTES_FOR_MARGINALS = 14
MAX_CELLS_FOR_KRONECKER = 5_000
MAX_FORMS = 1 << 21  # queries by subsets, the work of one step for votes

FINE_NORM = 256  # grid steps that Gaussian noise should be calibrated to, at least


@dataclass(frozen=True)
class StrategyChoice:
    """A chosen strategy.

    Parameters
    ----------
    name : str
    strategy : Strategy
    expected_error : float
        Of all answers for one class, added up.
    considered : mapping from names to expected errors
    """

    name: str
    strategy: Strategy
    expected_error: float
    considered: Mapping[str, float]


def choose_strategy(
    workload: Workload, price: Price, among: tuple[str, ...] | None = None, steps: int = 1
) -> StrategyChoice:
    """The strategy with the least expected error for a workload.

    Parameters
    ----------
    workload : Workload
    price : Pure or Gaussian
        Pure epsilon takes Laplace noise and L1 norms, a mu takes Gaussian noise and L2 norms.
    among : tuple of str, optional
        The kinds to consider; by default all that are quick enough for the workload's size.
    steps : int
        Single records between neighbouring tables: a strategy whose noise could not be drawn for
        so many is passed over.

    Returns
    -------
    StrategyChoice

    Examples
    --------
    >>> from dpforest.privacy.accounts.spends import Pure
    >>> from dpforest.trees.workloads import marginals
    >>> choice = choose_strategy(marginals((5, 5, 5, 5), [(0,), (1,)]), Pure(1))
    >>> choice.name
    'marginals'
    """
    order = order_of(price)
    found: dict[str, Strategy] = {}
    for name in quick_enough(workload, order) if among is None else among:
        strategy = build_strategy(name, workload, order)
        if strategy is not None and order == 2 and strategy.norm(2) < FINE_NORM**2:
            strategy = Finer(strategy, FINE_NORM)
        if strategy is not None and _noise_can_be_drawn(strategy, price, steps):
            found[name] = strategy
    if not found:
        raise ValueError(
            "no strategy fits this workload: its domain is too large, use fewer features an "
            "ensemble, fewer bins, or strategy='laplace'"
        )
    errors = {name: expected_error(workload, s, price) for name, s in found.items()}
    best = min(errors, key=lambda name: errors[name])
    return StrategyChoice(best, found[best], errors[best], errors)


def build_strategy(name: str, workload: Workload, order: Order) -> Strategy | None:
    """The best strategy of one kind; None where it does not fit the workload or its domain."""
    if name == "laplace":
        return Direct(workload) if workload.whole else None
    if name == "marginals":
        return best_marginals(workload, order)
    if name == "residuals":
        return best_residuals(workload)
    if _n_cells(workload) > MAX_TABLE_CELLS:
        return None
    if name == "identity":
        return Identity(workload.domain)
    if name == "kronecker":
        return best_kronecker(workload, order)
    if name == "p_identity":
        return best_p_identity(workload, order)
    if name == "mixture":
        return best_mixture(workload, order)
    raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {name!r}")


def quick_enough(workload: Workload, order: Order) -> tuple[str, ...]:
    """The kinds of strategy whose search takes little time for a workload of this size."""
    n_cells, d = _n_cells(workload), len(workload.domain)
    names = ["identity", "laplace"]
    if d > 1 and d <= MAX_ATTRIBUTES_FOR_MARGINALS:
        names.extend(["marginals"] if order == 1 else ["marginals", "residuals"])
    if d > 1 and n_cells <= MAX_CELLS_FOR_KRONECKER and workload.n_queries * 2**d <= MAX_FORMS:
        names.append("kronecker")
    if n_cells <= MAX_CELLS_FOR_P_IDENTITY:
        names.append("p_identity")
    if workload.n_queries <= MAX_QUERIES_FOR_MIXTURE and _n_entries(workload) <= MAX_ENTRIES:
        names.append("mixture")
    return tuple(names)


def _noise_can_be_drawn(strategy: Strategy, price: Price, steps: int) -> bool:
    """Gaussian noise on a fine grid can leave the range of the exact sampler."""
    if order_of(price) == 1:
        return True
    try:
        noise_for(strategy, price, steps, TWO_HALVES)
    except ValueError:
        return False
    return noise_for(strategy, price).deviation <= LARGEST_DEVIATION


def _n_entries(workload: Workload) -> float:
    """The numbers in the workload's matrix, where it is sparse without those that are zero."""
    if isinstance(workload, Rows):
        return float(workload.rows.nnz)
    return workload.n_queries * _n_cells(workload)


def _n_cells(workload: Workload) -> float:
    return float(np.prod(workload.domain, dtype=np.float64))

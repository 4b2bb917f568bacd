"""One way to pay for trees: the same spend for each, put together by how they see records."""

from __future__ import annotations

import math
from typing import Literal

from dpforest.privacy.accounts.mechanisms_used import (
    DiscreteLaplace,
    Mechanism,
    OfTree,
    Selection,
)
from dpforest.privacy.accounts.spends import Amount, Branch, Pure, Spend
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.additive import AdditiveNoise


def pay_for_choices(
    desk: Desk, label: str, mechanism: str, span: Span, sampling: TreeSampling, *, where: str
) -> Amount:
    """Debit private choices of every tree; gives the epsilon of a choice, for one added record."""
    within = sampling.within_span(span, desk.steps)
    made = _made(desk, Selection(mechanism, within, 1), span, sampling)
    _debit(desk, Spend.of(label, mechanism, made), sampling, where)
    return within


def pay_for_noise(
    desk: Desk, label: str, span: Span, sampling: TreeSampling, *, grid: int = 1, where: str
) -> AdditiveNoise:
    """Debit noise for totals of which a record changes so many grid steps in a tree.

    The noise is for one added record at the epsilon of one step: L1 sensitivity ``grid``.
    """
    noise = noise_within(desk, span, sampling, grid)
    assert isinstance(noise.made, DiscreteLaplace)  # prices of trees are pure
    made = _made(desk, noise.made, span, sampling)
    _debit(desk, Spend.of(label, noise.mechanism(grid), made), sampling, where)
    return noise


def noise_within(desk: Desk, span: Span, sampling: TreeSampling, grid: int = 1) -> AdditiveNoise:
    """The noise of a tree's totals in a span, as `pay_for_noise` pays for it."""
    within = Pure(sampling.within_span(span, desk.steps))
    return AdditiveNoise.for_price(within, l1=grid, l2=float(grid))


def _made(
    desk: Desk, made: DiscreteLaplace | Selection, span: Span, sampling: TreeSampling
) -> Mechanism:
    """What a tree releases, for all records between neighbours and at the price of its sample."""
    if sampling.kind == "without_replacement":
        kind, n_trees, share = sampling.kind, sampling.n_trees, sampling.share
        return OfTree(made, kind, n_trees, share, desk.steps, *span)
    if isinstance(made, DiscreteLaplace):
        return DiscreteLaplace(made.scale, made.sensitivity * desk.steps)
    return Selection(made.name, made.epsilon, desk.steps)


def _debit(desk: Desk, spend: Spend, sampling: TreeSampling, where: str) -> None:
    rule: Literal["parallel", "sequential"] = (
        "parallel" if sampling.kind == "disjoint" else "sequential"
    )
    records = f"{sampling.n_trees} trees, {sampling.kind.replace('_', ' ')} records"
    trees = Branch(records, rule, (spend,), times=sampling.n_trees)
    desk.ledger.debit(Branch(where, "sequential", (trees,)))


def whole(epsilon: Amount) -> Span:
    """The span of a release that takes all of an epsilon."""
    return Span(0 * epsilon if not math.isinf(epsilon) else 0.0, epsilon)

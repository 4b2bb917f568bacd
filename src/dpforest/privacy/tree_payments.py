"""One way to pay for trees: the same spend for each, put together by how they see records."""

from __future__ import annotations

import math
from typing import Literal

from dpforest.privacy.accounts.spends import Amount, Branch, Pure, Spend
from dpforest.privacy.accounts.tree_sampling import Span, TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.additive import AdditiveNoise


def pay_for_choices(
    desk: Desk, label: str, mechanism: str, span: Span, sampling: TreeSampling, *, where: str
) -> Amount:
    """Debit private choices of every tree; gives the epsilon of a choice, for one added record."""
    _debit(desk, Spend(label, mechanism, _price(span, sampling)), sampling, where)
    return sampling.within_span(span, desk.steps)


def pay_for_noise(
    desk: Desk, label: str, span: Span, sampling: TreeSampling, *, grid: int = 1, where: str
) -> AdditiveNoise:
    """Debit noise for totals of which a record changes so many grid steps in a tree.

    The noise is for one added record at the epsilon of one step: L1 sensitivity ``grid``.
    """
    noise = noise_within(desk, span, sampling, grid)
    price = _price(span, sampling)
    if sampling.kind != "without_replacement" and isinstance(noise.loss, Pure):
        # Scales are rounded up, so that a tree costs a hair less than it may.
        price = Pure(noise.loss.epsilon * desk.steps)
    _debit(desk, Spend(label, noise.mechanism(grid), price), sampling, where)
    return noise


def noise_within(desk: Desk, span: Span, sampling: TreeSampling, grid: int = 1) -> AdditiveNoise:
    """The noise of a tree's totals in a span, as `pay_for_noise` pays for it."""
    within = Pure(sampling.within_span(span, desk.steps))
    return AdditiveNoise.for_price(within, l1=grid, l2=float(grid))


def _price(span: Span, sampling: TreeSampling) -> Pure:
    return Pure(sampling.price_of_tree(span.price))


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

"""The arithmetic of a budget that many uses share: a filter whose total is fixed up front.

Uses come one after the other or at the same time, each chosen in the light of what others
released. Two accounts make up the total (E, D); ``docs/privacy/budget.md`` has the proof:

* **plain**: pure epsilons and the deltas of thresholds, which add up;
* **the pool**: Gaussian releases, whose mu^2 add up. It opens with the first one, takes all that
  is left but what was set aside, and its size (E_pool, D_pool) never changes while anything of it
  is spent. A pure epsilon that finds no plain room may go there, as the mu of `mu_of_pure`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from scipy.special import ndtr, ndtri

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.accounting import gaussian_epsilon, mu_for
from dpforest.privacy.accounts.guarantee import pair
from dpforest.privacy.accounts.spends import Amount, Cost, exact

# mu_for gives 1e-10 away. A pool takes most of that back (the rest covers doubles of decimals),
# a use some of it, so that shares of a plan fit what is reserved, and a plan of all of it the pool.
_POOL_SLACK, _USE_SLACK = Fraction(9, 10**11), Fraction(5, 10**11)
_SAFE = 1e-9  # relative: far above the errors of the normal quantile, far below what matters
_SMALL, _LARGE = 1e-3, 500.0  # epsilons beyond which the normal quantile has too few digits
NOTHING = Fraction(0)


class Pair(NamedTuple):
    """An epsilon and a delta, exactly."""

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, epsilon: Fraction | float, delta: Fraction | float) -> Pair:
        """Read finite amounts by their decimal digits."""
        amounts = exact(epsilon, "epsilon"), exact(delta, "delta")
        if math.inf in amounts or amounts[1] >= 1:
            raise ValueError(
                f"a budget cannot count epsilon = {float(epsilon):g}, delta = {float(delta):g}: "
                "expected a finite epsilon of at least 0 and a delta from 0 to less than 1"
            )
        return cls(Fraction(amounts[0]), Fraction(amounts[1]))


NO_PAIR = Pair(NOTHING, NOTHING)


class Charge(NamedTuple):
    """What one use takes of the two accounts."""

    epsilon: Fraction = NOTHING
    delta: Fraction = NOTHING
    mu_squared: Fraction = NOTHING
    pooled: bool = False  # whether the pure part of the use is in the pool


@dataclass(frozen=True)
class Filter:
    """A fixed total and what is spent or reserved of it. A frozen value.

    Parameters
    ----------
    total : Pair
        What all uses may cost together, fixed up front.
    aside : Pair
        What the pool leaves for plain uses when it opens.
    plain : Pair
        The sums of the plain account.
    mu_squared : Fraction
        The sum of the pool.
    pool : Pair or None
        Its size; None as long as nothing of it is spent or reserved.

    Examples
    --------
    >>> empty = Filter(Pair.of(1.0, 1e-6), Pair.of(0, 0))
    >>> half = empty.replaced(Charge(), empty.charge(Cost({Fraction(1, 2): 1})))
    >>> half.plain.epsilon, half.room.epsilon
    (Fraction(1, 2), Fraction(1, 2))
    """

    total: Pair
    aside: Pair
    plain: Pair = NO_PAIR
    mu_squared: Fraction = NOTHING
    pool: Pair | None = None

    def __post_init__(self) -> None:
        if self.aside.epsilon > self.total.epsilon or self.aside.delta > self.total.delta:
            raise ValueError(
                f"{pair(*self.aside)} is set aside of {pair(*self.total)}: expected a part of it"
            )

    @property
    def room(self) -> Pair:
        """What plain uses may still cost."""
        pool = self.pool or NO_PAIR
        return Pair(
            self.total.epsilon - pool.epsilon - self.plain.epsilon,
            self.total.delta - pool.delta - self.plain.delta,
        )

    @property
    def pool_left(self) -> Fraction:
        """The mu^2 that is left in the pool, or that it would open with now."""
        size = self.pool or self._next_pool()
        return _largest_mu(size, _POOL_SLACK) ** 2 - self.mu_squared

    def charge(self, cost: Cost) -> Charge:
        """Return what a use of this cost takes; BudgetExceededError where that is not there."""
        for pooled in (False, True):
            found = placed(cost, pooled)
            if self._affords(found):
                return found
        raise BudgetExceededError(self._refusal(cost))

    def _affords(self, charge: Charge) -> bool:
        if charge.pooled and self.pool is None:
            return False  # before the pool opens all pure epsilons are plain, which is cheaper
        after = replace(self, plain=_more(self.plain, charge))
        return min(after.room) >= 0 and charge.mu_squared <= max(after.pool_left, NOTHING)

    def replaced(self, old: Charge, new: Charge) -> Filter:
        """Return the filter with one use's charge in the place of another; both were checked."""
        plain = _more(_less(self.plain, old), new)
        mu_squared = self.mu_squared - old.mu_squared + new.mu_squared
        changed = replace(self, plain=plain, mu_squared=mu_squared)
        if not mu_squared:
            return replace(changed, pool=None)
        return changed if self.pool else replace(changed, pool=changed._next_pool())

    def _next_pool(self) -> Pair:
        """All that is left but what was set aside, for a pool that opens now."""
        return Pair(
            max(self.total.epsilon - self.plain.epsilon - self.aside.epsilon, NOTHING),
            max(self.total.delta - self.plain.delta - self.aside.delta, NOTHING),
        )

    def _refusal(self, cost: Cost) -> str:
        left = [f"{pair(*self.room)} for pure and thresholded releases"]
        left.append(f"{self._in_epsilon(max(self.pool_left, NOTHING))} for Gaussian ones")
        asked = (
            str(cost) if cost.epsilon or cost.delta else self._in_epsilon(Fraction(cost.mu_squared))
        )
        why = ""
        if cost.mu_squared and not self.total.delta:
            why = " Gaussian releases need a budget with a delta: ask for delta=0."
        elif cost.delta and self.pool is not None:
            why = (
                " Thresholds take their delta from what is not in the pool of Gaussian releases: "
                "pay for schemas before the first Gaussian fit, or create budgets with set_aside."
            )
        return (
            f"this may cost {asked}, but of the budget {pair(*self.total)} there is left "
            f"{' and '.join(left)}. Nothing was read or released.{why} Ask for less, or for a "
            "larger budget"
        )

    def _in_epsilon(self, mu_squared: Fraction) -> str:
        """A sum of squares of mu, and what it is at the delta of the total."""
        mu, delta = root_down(mu_squared), float(self.total.delta)
        if not (mu and delta):
            return f"mu = {mu:.6g}"
        return f"mu = {mu:.6g} (epsilon = {gaussian_epsilon(mu, delta):.4g} at delta = {delta:g})"


def most_of(epsilon: Amount, delta: Amount, pure_share: Fraction = NOTHING) -> Cost:
    """Return the most that a use with a budget of its own may cost, before it is known in detail.

    Parameters
    ----------
    epsilon, delta : Fraction or float
        Its budget. With a delta its releases are Gaussian, but for a share.
    pure_share : Fraction
        The part of epsilon that pure releases have where there is a delta.
    """
    budget = Pair.of(epsilon, delta)
    if not budget.delta:
        return Cost({budget.epsilon: 1})
    pure = pure_share * budget.epsilon
    return Cost({pure: 1} if pure else {}, _largest_mu(budget, _USE_SLACK) ** 2)


def _largest_mu(budget: Pair, slack: Fraction) -> Fraction:
    return Fraction(mu_for(float(budget.epsilon), float(budget.delta))) * (1 + slack)


def placed(cost: Cost, pooled: bool) -> Charge:
    """A cost as a charge, with its pure part as it is or, in the pool, as a mu."""
    epsilon, mu_squared = Fraction(cost.epsilon), Fraction(cost.mu_squared)
    if pooled:
        mu_squared += Fraction(mu_of_pure(epsilon)) ** 2
        epsilon = NOTHING
    return Charge(epsilon, Fraction(cost.delta), mu_squared, pooled)


def mu_of_pure(epsilon: Fraction | float) -> float:
    """Return a mu such that every epsilon-DP release is mu-GDP, rounded up.

    Randomised response is the worst epsilon-DP release, and its trade-off curve touches the
    Gaussian one where both errors are 1/(1 + exp(epsilon)): mu = 2 Phi^-1(1/(1 + exp(-epsilon))).

    Examples
    --------
    >>> round(mu_of_pure(0.1), 4)
    0.1253
    """
    if epsilon < _SMALL:
        return math.sqrt(math.pi / 2) * float(epsilon) * (1 + _SAFE)  # the tangent, from above
    if epsilon > _LARGE:
        return math.sqrt(8 * float(epsilon)) * (1 + _SAFE)  # Phi(-x) <= exp(-x^2/2) / 2
    odds = math.exp(-float(epsilon))
    return -2 * float(ndtri(odds / (1 + odds))) * (1 + _SAFE)


def pure_of_mu(mu: float) -> float:
    """Return an epsilon whose `mu_of_pure` is at most mu, rounded down.

    Examples
    --------
    >>> mu_of_pure(pure_of_mu(0.2)) <= 0.2
    True
    """
    if mu < 2 * _SMALL:
        return mu / math.sqrt(math.pi / 2) * (1 - 4 * _SAFE)
    tail = float(ndtr(-mu / 2))
    return (math.log1p(-tail) - math.log(tail)) * (1 - 4 * _SAFE)


def root_down(square: Fraction) -> float:
    """Return a root, rounded down."""
    root = Cost(mu_squared=square).mu
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0)
    return root


def _more(amounts: Pair, charge: Charge) -> Pair:
    return Pair(amounts.epsilon + charge.epsilon, amounts.delta + charge.delta)


def _less(amounts: Pair, charge: Charge) -> Pair:
    return Pair(amounts.epsilon - charge.epsilon, amounts.delta - charge.delta)

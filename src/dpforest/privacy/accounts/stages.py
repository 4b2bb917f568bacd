"""A stage of a ledger: a budget that was fixed before it began, and what was spent of it.

Entries of a stage compose sequentially. Pure epsilons are added exactly, Gaussian releases go
through the exact Gaussian curve, and both together through privacy loss distributions.
``docs/privacy/ledger.md`` explains why each step holds, and why stages add up.
"""

import math
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.accounting import gaussian_epsilon, mixture_epsilon, mu_for
from dpforest.privacy.accounts.guarantee import pair
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Amount, Branch, Cost, Entry, exact, rounded_up

Kind = Literal["schema", "fit", "continued fit", "failed fit", "evaluation", "search"]
CLEARLY = Fraction(9, 10)
MODELS = ("fit", "continued fit", "search")  # stages that came to their end with a model


@dataclass(frozen=True)
class Stage:
    """A filter: releases that together never cost more than the budget. A frozen value.

    Parameters
    ----------
    kind : {"schema", "fit", "continued fit", "failed fit", "evaluation", "search"}
        What the releases were made for.
    budget_epsilon, budget_delta : float or Fraction
        As in `Ledger`.
    protection : Protection
    reproducible_noise : bool
    identity : str
        Random, and kept in files: by it, ledgers that hold the same stage count it once.
    entries, voided, remarks : tuple
        What was debited, why there is no guarantee, and what a reader should know.
    total : Cost
        Of the entries.

    Examples
    --------
    >>> from dpforest.privacy.accounts.spends import Pure, Spend
    >>> stage = Stage("fit", 1.0, 0.0, Protection())
    >>> stage.debited(Spend("number of records", "discrete Laplace", Pure(0.25))).unspent_epsilon
    Fraction(3, 4)
    """

    kind: Kind
    budget_epsilon: Amount
    budget_delta: Amount
    protection: Protection
    reproducible_noise: bool = False
    identity: str = field(default_factory=lambda: secrets.token_hex(16), compare=False)
    entries: tuple[Entry, ...] = ()
    voided: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    total: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget_epsilon", _budget(self.budget_epsilon, "epsilon"))
        object.__setattr__(self, "budget_delta", _budget(self.budget_delta, "delta"))
        if self.budget_delta >= 1:
            raise ValueError(
                f"delta is {float(self.budget_delta)!r}, expected a number from 0 to less than 1, "
                "well below one over the number of records"
            )

    @property
    def epsilon(self) -> Amount:
        """Epsilon of everything spent, at `delta`."""
        return self._epsilon_of(self.total)

    @property
    def delta(self) -> Amount:
        """Delta that goes with `epsilon`: the whole budget's once a Gaussian release was made."""
        return self.budget_delta if self.total.mu_squared else self.total.delta

    @property
    def unspent_epsilon(self) -> Amount:
        """Budget less `epsilon`, exactly: what a last release may still cost."""
        if self.budget_epsilon == math.inf:
            return math.inf
        return self.budget_epsilon - Fraction(self.epsilon)

    def debited(self, entry: Entry) -> "Stage":
        """Return the stage with one entry more, or raise BudgetExceededError."""
        more = self.with_entry(entry)
        total = more.total
        if not self._affords(total):
            raise BudgetExceededError(
                f"{entry.label!r} costs {entry.cost()}, but "
                f"{pair(self.epsilon, self.delta)} of the budget "
                f"{pair(self.budget_epsilon, self.budget_delta)} is spent already. "
                "Nothing was read or released. Give a larger epsilon"
                + (" or delta" if total.mu_squared or total.delta else "")
                + ", or ask for less"
            )
        return more

    def with_entry(self, entry: Entry) -> "Stage":
        """Return the stage with one entry more, whatever it costs: history is not put to a vote."""
        last = self.entries[-1] if self.entries else None
        entries = (*self.entries, entry)
        if (
            isinstance(entry, Branch)
            and isinstance(last, Branch)
            and entry.rule == "sequential"
            and replace(entry, times=last.times) == last
        ):
            # More of the same in sequence: one line for all rounds of a model.
            entries = (*self.entries[:-1], replace(last, times=last.times + entry.times))
        return replace(self, entries=entries, total=self.total + entry.cost())

    def begins(self, other: "Stage") -> bool:
        """Whether the other one is this stage at the same or a later time."""
        if not self.entries:
            return True
        *first, last = self.entries
        here = other.entries[len(first)] if len(other.entries) > len(first) else None
        if isinstance(last, Branch) and isinstance(here, Branch) and here.times >= last.times:
            last = replace(last, times=here.times)
        return here == last and list(other.entries[: len(first)]) == first

    def argument(self) -> str:
        """Say how the total follows from the entries."""
        total = self.total
        if not self.entries:
            return "nothing spent"
        if not total.mu_squared:
            return "the epsilons add up exactly [sequential]"
        curve = f"mu = {rounded_up(total.mu)}, by the exact Gaussian curve"
        if total.epsilon:
            curve = f"{total}, by privacy loss distributions"
        return f"{curve} at delta = {rounded_up(Fraction(self._delta_left(total)))} [sequential]"

    def _affords(self, total: Cost) -> bool:
        if self.budget_epsilon == math.inf:
            return True
        # What is quick comes first and settles nearly every case without dp_accounting.
        return (
            self._is_well_within(total)
            or self._sum_bound(total) <= self.budget_epsilon
            or self._epsilon_of(total) <= self.budget_epsilon
        )

    def _is_well_within(self, total: Cost) -> bool:
        """Whether all is Gaussian and clearly below the mu of the budget, which is rounded down."""
        if total.pure or total.delta > self.budget_delta:
            return False
        below = math.nextafter(float(self.budget_epsilon), 0.0)
        most = Fraction(mu_for(below, self._delta_left(total))) ** 2
        # Near the edge the curve itself decides, so that what is printed never exceeds the budget.
        return bool(total.mu_squared <= CLEARLY * most)

    def _epsilon_of(self, total: Cost) -> Amount:
        bound = self._sum_bound(total)
        if bound == math.inf or not total.epsilon or not total.mu_squared:
            return bound
        pure = {Fraction(epsilon): count for epsilon, count in total.pure.items()}
        return mixture_epsilon(pure, total.mu, self._delta_left(total))

    def _sum_bound(self, total: Cost) -> Amount:
        """Pure epsilons plus the Gaussian's: exact when there is only one kind."""
        if total.delta > self.budget_delta:
            return math.inf
        if not total.mu_squared:
            return total.epsilon
        gaussian = gaussian_epsilon(total.mu, self._delta_left(total))
        return math.inf if gaussian == math.inf else total.epsilon + Fraction(gaussian)

    def _delta_left(self, total: Cost) -> float:
        """Delta that the Gaussian curve may use, next to what thresholds took."""
        return float(self.budget_delta - total.delta)


def each_once(stages: Iterable[Stage]) -> list[Stage]:
    """Return every stage once, as it is told at the latest time; ValueError when tales differ."""
    found: dict[str, Stage] = {}
    for stage in stages:
        known = found.get(stage.identity, stage)
        if not known.begins(stage) and not stage.begins(known):
            raise ValueError(
                f"two ledgers tell the same {stage.kind} differently, expected copies of one "
                "account: keep one object for the records, and add up its latest ledger"
            )
        later = stage if known.begins(stage) else known
        # What either copy says against the guarantee holds of both.
        found[stage.identity] = replace(
            later,
            voided=tuple(dict.fromkeys(known.voided + stage.voided)),
            remarks=tuple(dict.fromkeys(known.remarks + stage.remarks)),
            reproducible_noise=known.reproducible_noise or stage.reproducible_noise,
        )
    return list(found.values())


def failures_of(stages: Sequence[Stage]) -> list[Stage]:
    """Return what was spent in vain since a fit came to its end, with the schema if none did."""
    spent = [stage for stage in stages if stage.entries]
    complete = [i for i, stage in enumerate(spent) if stage.kind in MODELS]
    rest = spent[complete[-1] + 1 :] if complete else spent
    return rest if any(stage.kind == "failed fit" for stage in rest) else []


def reasons_of(stages: Iterable[Stage], protection: Protection) -> list[str]:
    """Return why stages give no guarantee for a protection: voided, or paid for another one."""
    reasons: list[str] = []
    for stage in stages:
        reasons += stage.voided
        if stage.entries and stage.protection != protection:
            reasons.append(
                f"the {stage.kind} was paid for {stage.protection.describe()}, and the model "
                f"protects {protection.describe()}: use the same neighbors, groups and "
                "max_records_per_group for both"
            )
    return reasons


def added_up(amounts: Iterable[Amount]) -> Amount:
    """Return the exact sum, floats by their binary value."""
    listed = list(amounts)
    if math.inf in listed:
        return math.inf
    return sum((Fraction(amount) for amount in listed), Fraction(0))


def _budget(value: Amount, name: str) -> Amount:
    """Read a limit so that shares of a float fit, be they planned in decimals or in binary."""
    amount = exact(value, name)
    if isinstance(value, float) and amount < math.inf:
        return max(amount, Fraction(value))
    return amount

"""The ledger: what was spent of a privacy budget, and the proof of the guarantee that follows.

Entries compose sequentially. Pure epsilons are added exactly, Gaussian releases go through
the exact Gaussian curve, and both together through privacy loss distributions.
``docs/privacy/ledger.md`` explains why each step holds.
"""

import math
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Self

from dpforest.exceptions import BudgetExceededError, ModelFileError
from dpforest.privacy.accounts.accounting import gaussian_epsilon, mixture_epsilon
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import (
    Amount,
    Approximate,
    Branch,
    Cost,
    Entry,
    Gaussian,
    Loss,
    Pure,
    Spend,
    exact,
    rounded_up,
    spends_of,
)
from dpforest.privacy.accounts.writing import draw, entry_from_dict, entry_to_dict

__all__ = [
    "Approximate",
    "Branch",
    "Entry",
    "Gaussian",
    "Guarantee",
    "Ledger",
    "Loss",
    "Protection",
    "Pure",
    "Spend",
]

_ONE_AT_A_TIME = threading.RLock()  # two threads must not spend the same rest of a budget

NOT_PRIVATE = "epsilon is infinite: not private"
REPRODUCIBLE = "noise: reproducible, not for release"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for the neighbours that `protection` names.

    Examples
    --------
    >>> print(Guarantee(1.0, 1e-6, Protection()))
    (epsilon = 1, delta = 1e-06) for adding or removing one record
    """

    epsilon: float
    delta: float
    protection: Protection

    def __str__(self) -> str:
        """Show what is promised, to whom."""
        return f"{_pair(self.epsilon, self.delta)} for {self.protection.describe()}"


class Ledger:
    """A privacy budget and what was spent of it.

    Parameters
    ----------
    budget_epsilon : float or Fraction
        At least 0; math.inf for a forest that is not private. A float stands for its decimal
        digits (0.3 is three tenths) or its binary value, whichever is larger by a hair.
    budget_delta : float or Fraction
        From 0 to less than 1. Gaussian releases need some.
    protection : Protection
        The neighbours of the guarantee. Each loss that is debited must be theirs already.
    reproducible_noise : bool
        Whether the noise follows from a seed, so that the release must not leave the house.

    Examples
    --------
    >>> ledger = Ledger(1.0, 0.0, Protection())
    >>> ledger.debit(Spend("number of records", "discrete Laplace", Pure(0.25)))
    >>> print(ledger.explain())
    (epsilon = 0.25, delta = 0) for adding or removing one record
    budget: (epsilon = 1, delta = 0)
    total: the epsilons add up exactly [sequential]
    └─ number of records: discrete Laplace, epsilon = 0.25
    >>> ledger.remaining_epsilon
    0.75
    """

    def __init__(
        self,
        budget_epsilon: Amount,
        budget_delta: Amount,
        protection: Protection,
        reproducible_noise: bool = False,
    ) -> None:
        self.budget_epsilon = _budget(budget_epsilon, "epsilon")
        self.budget_delta = _budget(budget_delta, "delta")
        if self.budget_delta >= 1:
            raise ValueError(
                f"delta is {budget_delta!r}, expected a number from 0 to less than 1, "
                "well below one over the number of records"
            )
        self.protection = protection
        self.reproducible_noise = reproducible_noise
        self._entries: list[Entry] = []
        self._voided: list[str] = []
        self._remarks: list[str] = []
        self._continued = False
        self._total = Cost()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was debited, in order."""
        return tuple(self._entries)

    @property
    def epsilon(self) -> float:
        """Epsilon of everything spent, at `delta`."""
        return float(self._epsilon_of(self._total))

    @property
    def delta(self) -> float:
        """Delta that goes with `epsilon`: the whole budget's once a Gaussian release was made."""
        return float(self.budget_delta if self._total.mu_squared else self._total.delta)

    @property
    def remaining_epsilon(self) -> float:
        """Budget less `epsilon`, rounded down: a pure spend of it is affordable."""
        if self.budget_epsilon == math.inf:
            return math.inf
        left = self.budget_epsilon - Fraction(self._epsilon_of(self._total))
        nearest = float(left)
        return nearest if exact(nearest) <= left else math.nextafter(nearest, 0)

    @property
    def unspent_epsilon(self) -> Amount:
        """Budget less `epsilon`, exactly: what a last release may still cost."""
        if self.budget_epsilon == math.inf:
            return math.inf
        return self.budget_epsilon - self._epsilon_of(self._total)

    @property
    def remaining_delta(self) -> float:
        """Budget less `delta`."""
        return float(self.budget_delta) - self.delta

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there is no guarantee; empty when there is one."""
        infinite = (NOT_PRIVATE,) if self.epsilon == math.inf else ()
        return (*self._voided, *infinite)

    @property
    def guarantee(self) -> Guarantee | None:
        """What holds for everything spent, or None (then `reasons` says why)."""
        if self.reasons:
            return None
        return Guarantee(self.epsilon, self.delta, self.protection)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the guarantee should know beside it."""
        written = dict.fromkeys(spend.note for spend in spends_of(self._entries) if spend.note)
        reproducible = (REPRODUCIBLE,) if self.reproducible_noise else ()
        return (*reproducible, *written, *self._remarks)

    def debit(self, entry: Entry) -> None:
        """Append an entry, or raise BudgetExceededError and change nothing.

        To be called before the data is read.
        """
        with _ONE_AT_A_TIME:
            total = self._total + entry.cost()
            if not self._affords(total):
                budget = _pair(self.budget_epsilon, self.budget_delta)
                raise BudgetExceededError(
                    f"{entry.label!r} costs {entry.cost()}, but "
                    f"{_pair(self.epsilon, self.delta)} of the budget {budget} is spent already. "
                    "Nothing was read or released. Give a larger epsilon"
                    + (" or delta" if total.mu_squared or total.delta else "")
                    + ", or ask for less"
                )
            self._append(entry, total)

    def void(self, reason: str) -> None:
        """Record why there is no guarantee."""
        if not reason:
            raise ValueError("the reason is empty, expected a sentence that users will read")
        if reason not in self._voided:
            self._voided.append(reason)

    def note(self, remark: str) -> None:
        """Add what a reader of the guarantee should know beside it."""
        if remark not in self._remarks:
            self._remarks.append(remark)

    def continued(self, epsilon: Amount, delta: Amount, reproducible_noise: bool) -> Self:
        """Return a ledger with this one's entries and so much more to spend.

        What was spent and what will be add up: the budgets do, and the guarantee covers both.
        """
        ledger = type(self)(
            self.budget_epsilon + exact(epsilon),
            self.budget_delta + exact(delta, "delta"),
            self.protection,
            self.reproducible_noise or reproducible_noise,
        )
        ledger._entries, ledger._total = list(self._entries), self._total
        ledger._voided, ledger._remarks = list(self._voided), list(self._remarks)
        ledger._continued = True
        ledger.note(f"continued with a further {_pair(exact(epsilon), exact(delta))}")
        return ledger

    def explain(self) -> str:
        """Return the proof of the guarantee as a tree of spends, with the rule at each branch."""
        guarantee = self.guarantee
        return "\n".join(
            [
                str(guarantee) if guarantee else "no guarantee: " + "; ".join(self.reasons),
                f"budget: {_pair(self.budget_epsilon, self.budget_delta)}",
                f"total: {self._argument()} [sequential]" if self._entries else "nothing spent",
                *draw(self._entries),
                *self.notes,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form; exact numbers are strings.

        ``guarantee`` is there for readers and other tools: `from_dict` works it out again.
        """
        guarantee = self.guarantee
        return {
            "budget": {"epsilon": str(self.budget_epsilon), "delta": str(self.budget_delta)},
            "protection": asdict(self.protection),
            "reproducible_noise": self.reproducible_noise,
            "guarantee": asdict(guarantee) if guarantee else None,
            "voided": list(self._voided),
            "remarks": list(self._remarks),
            "continued": self._continued,
            "entries": [entry_to_dict(entry) for entry in self._entries],
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; ModelFileError when it is damaged."""
        try:
            budget = written["budget"]
            ledger = cls(
                exact(budget["epsilon"], "epsilon"),
                exact(budget["delta"], "delta"),
                Protection(**written["protection"]),
                bool(written["reproducible_noise"]),
            )
            for reason in written["voided"]:
                ledger.void(reason)
            for remark in written["remarks"]:
                ledger.note(remark)
            ledger._continued = bool(written["continued"])
            for entry in map(entry_from_dict, written["entries"]):
                # What was spent was spent: history is read, not put to the budget again.
                ledger._append(entry, ledger._total + entry.cost())
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            raise ModelFileError(
                f"the ledger is damaged ({type(error).__name__}: {error}), expected what "
                "Ledger.to_dict writes: use another copy of the file, or train again"
            ) from error
        return ledger

    def __repr__(self) -> str:
        """Show what is spent and the budget."""
        spent = _pair(self.epsilon, self.delta)
        return f"<Ledger: {spent} of {_pair(self.budget_epsilon, self.budget_delta)} spent>"

    def _append(self, entry: Entry, total: Cost) -> None:
        last = self._entries[-1] if self._entries else None
        if (
            isinstance(entry, Branch)
            and isinstance(last, Branch)
            and entry.rule == "sequential"
            and replace(entry, times=last.times) == last
        ):
            # More of the same in sequence: one line for all rounds of a model.
            self._entries[-1] = replace(last, times=last.times + entry.times)
        else:
            self._entries.append(entry)
        self._total = total

    def _affords(self, total: Cost) -> bool:
        if self.budget_epsilon == math.inf:
            return True
        # The plain sum is quick and settles nearly every case without dp_accounting.
        return (
            self._sum_bound(total) <= self.budget_epsilon
            or self._epsilon_of(total) <= self.budget_epsilon
        )

    def _epsilon_of(self, total: Cost) -> Amount:
        bound = self._sum_bound(total)
        if bound == math.inf or not total.epsilon or not total.mu_squared:
            return bound
        pure = {Fraction(epsilon): count for epsilon, count in total.pure.items()}
        if self._continued:
            # How a budget was split may follow from releases before it; its sum does not.
            pure = {Fraction(total.epsilon): 1}
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

    def _argument(self) -> str:
        total = self._total
        if not total.mu_squared:
            return "the epsilons add up exactly"
        curve = f"mu = {rounded_up(total.mu)}, by the exact Gaussian curve"
        if total.epsilon:
            curve = f"{total}, by privacy loss distributions"
        return f"{curve} at delta = {rounded_up(Fraction(self._delta_left(total)))}"


def _budget(value: Amount, name: str) -> Amount:
    """Read a limit so that shares of a float fit, be they planned in decimals or in binary."""
    amount = exact(value, name)
    if isinstance(value, float) and amount < math.inf:
        return max(amount, Fraction(value))
    return amount


def _pair(epsilon: Amount, delta: Amount) -> str:
    return f"(epsilon = {rounded_up(epsilon)}, delta = {rounded_up(delta)})"

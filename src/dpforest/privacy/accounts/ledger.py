"""The ledger: what was spent of a privacy budget, and the proof of the guarantee that follows.

A ledger is a chain of stages, each a budget that was fixed before it began (`Stage`). Stages may be
chosen in the light of what earlier ones released, so their guarantees add up.
``docs/privacy/ledger.md`` has the proof.
"""

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, Self

from dpforest.exceptions import ModelFileError
from dpforest.privacy.accounts.guarantee import NOT_FOR_RELEASE, NOT_PRIVATE, Guarantee, pair
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import (
    Amount,
    Approximate,
    Branch,
    Entry,
    Gaussian,
    Pure,
    Spend,
    exact,
    spends_of,
)
from dpforest.privacy.accounts.stages import (
    Kind,
    Stage,
    added_up,
    each_once,
    failures_of,
    reasons_of,
)
from dpforest.privacy.accounts.writing import (
    proof_lines,
    require_same,
    stage_from_dict,
    stage_to_dict,
)

__all__ = [
    "Approximate",
    "Branch",
    "Entry",
    "Gaussian",
    "Guarantee",
    "Ledger",
    "Protection",
    "Pure",
    "Spend",
]

_ONE_AT_A_TIME = threading.RLock()  # two threads must not spend the same rest of a budget

REPRODUCIBLE = "noise: reproducible, not for release"
FAILED = "the fit failed after these releases: they remain spent"


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
    kind : {"fit", "schema", "continued fit", "evaluation", "search"}
        What the budget is for.
    after : iterable of Stage
        What was spent before, with budgets of its own.

    Examples
    --------
    >>> ledger = Ledger(1.0, 0.0, Protection())
    >>> ledger.debit(Spend("number of records", "discrete Laplace", Pure(0.25)))
    >>> print(ledger.explain())
    (epsilon = 0.25, delta = 0) for adding or removing one record
    budget: (epsilon = 1, delta = 0) [filter: fixed budget]
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
        *,
        kind: Kind = "fit",
        after: Iterable[Stage] = (),
    ) -> None:
        stage = Stage(kind, budget_epsilon, budget_delta, protection, reproducible_noise)
        self._stages = (*after, stage)
        self._is_open = True

    @classmethod
    def together(cls, *ledgers: "Ledger") -> Self:
        """Add up the ledgers of several models and schemas about the same records.

        What they share (the schema that all models were fitted with, a failed fit, the beginning
        of a continued model) counts once.

        Examples
        --------
        >>> paid = Ledger(1.0, 0.0, Protection(), kind="schema")
        >>> paid.debit(Spend("bounds of 'age'", "discrete Laplace", Pure(1)))
        >>> models = [Ledger(0.5, 0.0, Protection(), after=paid.stages) for _ in range(2)]
        >>> for model in models:
        ...     model.debit(Spend("class counts", "discrete Laplace", Pure(0.5)))
        >>> models[0].epsilon, Ledger.together(*models).epsilon
        (1.5, 2.0)
        """
        if not ledgers:
            raise ValueError("there is no ledger to add up, expected at least one")
        protected = {ledger.protection: None for ledger in ledgers}
        if len(protected) > 1:
            listed = "; ".join(protection.describe() for protection in protected)
            raise ValueError(
                f"the ledgers protect different things ({listed}), expected one: their epsilons "
                "do not add up, so account for them apart"
            )
        every = [stage for ledger in ledgers for stage in ledger.stages]
        return cls._of(each_once(every), is_open=False)

    @classmethod
    def _of(cls, stages: Iterable[Stage], is_open: bool = True) -> Self:
        ledger = cls.__new__(cls)
        ledger._stages, ledger._is_open = tuple(stages), is_open
        return ledger

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages in order; the last one is being spent."""
        return self._stages

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was debited in all stages, in order."""
        return tuple(entry for stage in self._stages for entry in stage.entries)

    @property
    def protection(self) -> Protection:
        """What the guarantee protects."""
        return self._stages[-1].protection

    @property
    def budget_epsilon(self) -> Amount:
        """The epsilons of all stages' budgets."""
        return added_up(stage.budget_epsilon for stage in self._stages)

    @property
    def budget_delta(self) -> Amount:
        """The deltas of all stages' budgets."""
        return added_up(stage.budget_delta for stage in self._stages)

    @property
    def epsilon(self) -> float:
        """Epsilon of everything spent, at `delta`: stages add up."""
        return float(added_up(stage.epsilon for stage in self._stages))

    @property
    def delta(self) -> float:
        """Delta that goes with `epsilon`."""
        return float(added_up(stage.delta for stage in self._stages))

    @property
    def unspent_epsilon(self) -> Amount:
        """What the last stage has left, exactly: what a last release may still cost."""
        return self._stages[-1].unspent_epsilon

    @property
    def remaining_epsilon(self) -> float:
        """What the last stage has left, rounded down: a pure spend of it is affordable."""
        left = self.unspent_epsilon
        nearest = float(left)
        return nearest if exact(nearest) <= left else math.nextafter(nearest, 0)

    @property
    def remaining_delta(self) -> float:
        """What the last stage has left of its delta."""
        return float(self._stages[-1].budget_delta) - float(self._stages[-1].delta)

    @property
    def reproducible_noise(self) -> bool:
        """Whether noise of any stage follows from a seed."""
        return any(stage.reproducible_noise for stage in self._stages)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there is no guarantee; empty when there is one."""
        infinite = [NOT_PRIVATE] if self.epsilon == math.inf else []
        return _once(*reasons_of(self._stages, self.protection), *infinite)

    @property
    def guarantee(self) -> Guarantee | None:
        """What holds for everything spent, or None (then `reasons` says why)."""
        if self.reasons:
            return None
        return Guarantee(self.epsilon, self.delta, self.protection, not self.reproducible_noise)

    @property
    def releasable(self) -> bool:
        """Whether there is a guarantee that holds outside: no noise follows from a seed."""
        return not self.reasons and not self.reproducible_noise

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the guarantee should know beside it."""
        reproducible = [REPRODUCIBLE] if self.reproducible_noise else []
        written = [spend.note for spend in spends_of(self.entries) if spend.note]
        remarks = [remark for stage in self._stages for remark in stage.remarks]
        return _once(*reproducible, *written, *remarks)

    def debit(self, entry: Entry) -> None:
        """Append an entry to the last stage, or raise BudgetExceededError and change nothing.

        To be called before the data is read.
        """
        if not self._is_open:
            raise RuntimeError("a sum of ledgers takes no debits: debit the ledger of the model")
        with _ONE_AT_A_TIME:
            self._stages = (*self._stages[:-1], self._stages[-1].debited(entry))

    def void(self, reason: str) -> None:
        """Record why there is no guarantee."""
        if not reason:
            raise ValueError("the reason is empty, expected a sentence that users will read")
        self._change(voided=_once(*self._stages[-1].voided, reason))

    def note(self, remark: str) -> None:
        """Add what a reader of the guarantee should know beside it."""
        self._change(remarks=_once(*self._stages[-1].remarks, remark))

    def mark_failed(self) -> None:
        """Record that the last stage ended before it gave a model: what it released remains."""
        self._change(kind="failed fit")
        self.note(FAILED)

    def failures(self) -> Self | None:
        """Return what was spent since the last model that came to its end; None for nothing."""
        rest = failures_of(self._stages)
        return self._of(rest) if rest else None

    def explain(self) -> str:
        """Return the proof of the guarantee as a tree of spends, with the rule at each branch."""
        promise = str(self.guarantee or "no guarantee: " + "; ".join(self.reasons))
        return "\n".join([promise, *proof_lines(self._stages, self.protection), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form; exact numbers are strings.

        Totals are there for readers and other tools: `from_dict` refuses what does not follow.
        """
        guarantee = self.guarantee
        return {
            "guarantee": asdict(guarantee) if guarantee else None,
            "releasable": self.releasable,
            "stages": [stage_to_dict(stage) for stage in self._stages],
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; ModelFileError when it is damaged or was edited."""
        try:
            ledger = cls._of([stage_from_dict(stage) for stage in written["stages"]])
            found = ledger.to_dict()
            for name in ("guarantee", "releasable"):
                require_same(name, written[name], found[name])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as e:
            raise ModelFileError(
                f"the ledger is damaged ({type(e).__name__}: {e}), expected what "
                "Ledger.to_dict writes: use another copy of the file, or train again"
            ) from e
        return ledger

    def __repr__(self) -> str:
        """Show what is spent and the budget."""
        spent = pair(self.epsilon, self.delta)
        budget = pair(self.budget_epsilon, self.budget_delta)
        warning = f", {NOT_FOR_RELEASE}" if self.reproducible_noise else ""
        return f"<Ledger: {spent} of {budget} spent{warning}>"

    def _change(self, **changes: Any) -> None:
        with _ONE_AT_A_TIME:
            self._stages = (*self._stages[:-1], replace(self._stages[-1], **changes))


def _once(*sentences: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))

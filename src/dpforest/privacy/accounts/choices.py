"""A choice between trained candidates, as an entry of a ledger.

Training and hold-out are parts of the records that share none: what is debited here is the pair
(epsilon, delta) of all of it, which must follow from what the parts cost.
``docs/privacy/choice.md`` has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpforest.privacy.accounts.accounting import gaussian_delta
from dpforest.privacy.accounts.spends import Amount, Branch, Cost, Rule, exact
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.privacy.accounts.trainings import covering_mu


@dataclass(frozen=True, slots=True)
class Choice(Branch):
    """Candidates that are trained on one part of the records and compared on another.

    Parameters
    ----------
    label, rule, parts, times
        Those of `Branch`; the parts are what the training part and the hold-out part pay, for one
        trial under the rule "random stopping", in all under the rule "parallel".
    stopping : Stopping, optional
        The law of the number of trials, under the rule "random stopping".
    epsilon, delta : Fraction
        What it costs: ValueError where that does not follow from the parts.

    Examples
    --------
    >>> from dpforest.privacy.accounts.spends import Gaussian, Pure, Spend
    >>> parts = tuple(Spend(name, "any", Pure(0.25)) for name in ("training", "hold-out"))
    >>> Choice("trials", "random stopping", parts, 1, Stopping(1, 20), 0.75, 0).cost().epsilon
    Fraction(3, 4)
    """

    RULES: ClassVar[tuple[Rule, ...]] = ("parallel", "random stopping")

    stopping: Stopping | None = None
    epsilon: Amount = Fraction(0)
    delta: Amount = Fraction(0)

    def __post_init__(self) -> None:
        Branch.__post_init__(self)
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "delta", exact(self.delta, "delta"))
        if (self.rule == "random stopping") != (self.stopping is not None) or self.times != 1:
            raise ValueError("a law of stopping goes with the rule 'random stopping', once")
        if not self._covers([part.cost() for part in self.parts]):
            raise ValueError(
                f"{self.label!r} costs (epsilon = {float(self.epsilon)}, delta = "
                f"{float(self.delta)}), expected more, which follows from its parts"
            )

    def cost(self) -> Cost:
        """Return what all of it costs."""
        return Cost({self.epsilon: 1}, delta=self.delta)

    def _covers(self, parts: list[Cost]) -> bool:
        if any(part.delta for part in parts):
            return False
        if self.stopping is None:
            return all(self._covers_part(part) for part in parts)
        if not any(part.mu_squared for part in parts):
            largest = max(float(part.epsilon) for part in parts)
            return Fraction(self.stopping.pure_epsilon(largest)) <= self.epsilon
        mu = max(covering_mu(part) for part in parts)
        return Fraction(self.stopping.delta(mu, float(self.epsilon))) <= self.delta

    def _covers_part(self, part: Cost) -> bool:
        if not part.mu_squared:
            return part.epsilon <= self.epsilon
        return Fraction(gaussian_delta(covering_mu(part), float(self.epsilon))) <= self.delta


def choice_to_dict(choice: Choice) -> dict[str, Any]:
    """Return what a choice has beside a branch, safe for JSON."""
    law = choice.stopping
    return {
        "stopping": None if law is None else {"eta": str(law.eta), "odds": law.odds},
        "costs": {"epsilon": str(choice.epsilon), "delta": str(choice.delta)},
    }


def choice_from_dict(branch: Mapping[str, Any], written: Mapping[str, Any]) -> Choice:
    """Read what `choice_to_dict` wrote, beside the fields of a branch."""
    law = written["stopping"]
    return Choice(
        **branch,
        stopping=None if law is None else Stopping(law["eta"], law["odds"]),
        epsilon=exact(written["costs"]["epsilon"]),
        delta=exact(written["costs"]["delta"], "delta"),
    )

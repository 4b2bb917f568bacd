"""Run a fit with its draws replaced by a script, to find all that it may release."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.worlds import Table
from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.mechanisms import selection
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.coins import CoinsInOrder
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.coins import Coins

DIGITS = 60
Probabilities = tuple[Decimal, ...]


@dataclass(frozen=True)
class Noise:
    """Totals that are released with discrete Laplace noise."""

    totals: NDArray[np.int64]
    scale: Fraction


@dataclass(frozen=True)
class Way:
    """One way through the draws of a fit, up to its last release.

    Parameters
    ----------
    shown : bytes
        A digest of all that the fitted model shows beside its last release: earlier choices, as
        far as they can be seen, and whatever else depends on the table.
    weight : Decimal
        The probability of this way.
    choices : tuple of tuple of Decimal
        The last release, where it is made of independent choices: the probabilities of each.
    noises : tuple of Noise
        The last release, where it is made of totals with discrete Laplace noise.
    """

    shown: bytes
    weight: Decimal
    choices: tuple[Probabilities, ...] = ()
    noises: tuple[Noise, ...] = ()

    @property
    def outcome(self) -> tuple[Any, ...]:
        """What is seen of this way before the last release is looked into."""
        noises = tuple((noise.totals.shape, noise.scale) for noise in self.noises)
        return self.shown, tuple(map(len, self.choices)), noises


def branches_of(model: PrivateEstimator, table: Table) -> list[Way]:
    """All ways through a fit on a table.

    A draw that is not yet in the script ends it: if the fit does not look at the records after it,
    its distribution is the last release; if it does, each outcome of the draw continues the script.
    """
    found = []
    waiting: list[_Script] = [_Script(())]
    with localcontext(prec=DIGITS):
        while waiting:
            script = waiting.pop()
            _run(model, table, script)
            if script.goes_on:
                waiting += script.continued()
            else:
                found.append(script.branch(_shown(model)))
    return found


@dataclass(frozen=True)
class _Draw:
    """Independent draws at one place of a fit: choices, or a uniform draw."""

    kind: str
    rows: tuple[Probabilities, ...] = ()


class _Script:
    """Outcomes to follow, and the first draw beyond them."""

    def __init__(self, outcomes: tuple[tuple[int, ...], ...], weight: Decimal = Decimal(1)) -> None:
        self.outcomes, self.weight = outcomes, weight
        self.position = 0
        self.last: _Draw | None = None
        self.noises: list[Noise] = []
        self.goes_on = False  # whether the fit drew again after the last draw

    def next(self, draw: _Draw) -> tuple[int, ...] | None:
        """The outcome of a draw; None where the script ends."""
        possible = [[i for i, chance in enumerate(row) if chance] for row in draw.rows]
        if all(len(outcomes) == 1 for outcomes in possible):
            return tuple(outcomes[0] for outcomes in possible)
        self.position += 1
        if self.position <= len(self.outcomes):
            return self.outcomes[self.position - 1]
        if self.last is None and not self.noises:
            self.last = draw
        else:
            self.goes_on = True
        return None

    def add_noise(self, noise: Noise) -> None:
        """Laplace noise: it may come last, and several times."""
        self.goes_on = self.goes_on or self.last is not None
        self.noises.append(noise)

    def look(self) -> None:
        """The records are looked at again: what follows may depend on how the last draw fell."""
        self.goes_on = self.goes_on or self.last is not None or bool(self.noises)

    def continued(self) -> Iterator[_Script]:
        """The scripts that follow every outcome of the last draw."""
        if self.last is None:
            raise ValueError(
                "what follows after Laplace noise cannot be enumerated: audit it statistically"
            )
        for picks in itertools.product(*(range(len(row)) for row in self.last.rows)):
            weight = self.weight
            for row, pick in zip(self.last.rows, picks, strict=True):
                weight *= row[pick]
            if weight:  # what has weight 0 is no candidate
                yield _Script((*self.outcomes, picks), weight)

    def branch(self, shown: bytes) -> Way:
        """The way that ended."""
        last = self.last or _Draw("nothing")
        if last.kind == "uniform":
            raise ValueError("the fit ended in a secret draw: nothing was released after it")
        return Way(shown, self.weight, last.rows, tuple(self.noises))


def _run(model: PrivateEstimator, table: Table, script: _Script) -> None:
    model._draws = ScriptedDraws(script)
    model.fit(table.X, table.y)


def _shown(model: PrivateEstimator) -> bytes:
    """A digest of what a file of the model would hold, the same in the place of its last draws."""
    # The identity of a stage is drawn anew for every fit: what a ledger tells is what it explains.
    facts = model._facts() | {"ledger": model.ledger_.explain()}
    digest = hashlib.sha256(json.dumps(facts, default=str).encode())
    for name, array in sorted(model._arrays().items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


class ScriptedDraws(Draws):
    """Follows a script in the place of chance; what is drawn from is the real thing.

    Uniform draws are secret, unless the model shows them.
    """

    def __init__(self, script: _Script) -> None:
        super().__init__(0)
        self._script = script

    def looked(self) -> None:
        """What follows may depend on how the last draw fell."""
        self._script.look()

    def below(self, m: int, size: int) -> NDArray[np.int64]:
        """The scripted values, each as likely as the others."""
        row = (Decimal(1) / Decimal(m),) * m
        outcome = self._script.next(_Draw("uniform", (row,) * size))
        return np.zeros(size, np.int64) if outcome is None else np.array(outcome, np.int64)

    def coins(self) -> Coins:
        """Coins that follow the script, in the order of the records."""
        return CoinsInOrder(self.below, lambda chances, m: self.below(m, len(chances)) < chances)

    def add_noise(self, noise: AdditiveNoise, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Remember the totals; ones in the place of the release: nothing may follow from it."""
        if not isinstance(noise.loss, Pure):
            raise ValueError("Gaussian noise has no worst loss: audit it statistically")
        if noise.parameter is None:
            return totals
        self._script.add_noise(Noise(totals.copy(), noise.parameter))
        return np.ones_like(totals)

    def permute_and_flip(self, utilities: Any, **terms: Any) -> NDArray[np.int64]:
        """The scripted candidates."""
        return self._choose(permute_and_flip_law, utilities, **terms)

    def exponential(self, utilities: Any, **terms: Any) -> NDArray[np.int64]:
        """The scripted candidates."""
        return self._choose(exponential_law, utilities, **terms)

    def exponential_at(
        self, utilities: NDArray[np.int64], rate: Fraction | float, weights: Any = None
    ) -> NDArray[np.int64]:
        """Not to be enumerated."""
        raise ValueError("a choice at a Gaussian price has no worst loss: replay it")

    def _choose(
        self,
        law: Any,
        utilities: Any,
        *,
        epsilon: Any,
        sensitivity: Any,
        monotone: bool,
        weights: Any = None,
    ) -> NDArray[np.int64]:
        table = np.asarray(utilities)
        rate = selection.selection_rate(epsilon, sensitivity, monotone=monotone)
        listed = table.reshape(-1, table.shape[-1]).tolist()
        if weights is None:
            rows = tuple(law(row, rate) for row in listed)
        else:
            measure = np.broadcast_to(weights, table.shape).reshape(-1, table.shape[-1])
            rows = tuple(map(law, listed, [rate] * len(listed), measure.tolist()))
        outcome = self._script.next(_Draw("choice", rows))
        flat = [0] * len(rows) if outcome is None else outcome
        return np.array(flat, np.int64).reshape(table.shape[:-1])


def permute_and_flip_law(utilities: list[int], rate: Fraction) -> Probabilities:
    """The probabilities of permute-and-flip to many digits.

    P(i) = p_i sum over sets S of the others of (-1)^|S| prod p_S / (|S| + 1), from the integral
    over the arrival time of i.
    """
    with localcontext(prec=DIGITS):
        coins = _coins(utilities, rate)
        chances = []
        for i, coin in enumerate(coins):
            others = coins[:i] + coins[i + 1 :]
            # elementary[k]: the sum over sets of k others of the product of their coins.
            elementary = [Decimal(1)]
            for other in others:
                pairs = zip([*elementary, Decimal(0)], [Decimal(0), *elementary], strict=True)
                elementary = [keep + take * other for keep, take in pairs]
            terms = [(-1) ** k * e / (k + 1) for k, e in enumerate(elementary)]
            chances.append(coin * sum(terms, Decimal(0)))
        return tuple(chances)


def exponential_law(
    utilities: list[int], rate: Fraction, weights: list[int] | None = None
) -> Probabilities:
    """The probabilities of the exponential mechanism to many digits."""
    with localcontext(prec=DIGITS):
        coins = _coins(utilities, rate)
        if weights is not None:
            coins = [coin * weight for coin, weight in zip(coins, weights, strict=True)]
        total = sum(coins, Decimal(0))
        return tuple(coin / total for coin in coins)


def _coins(utilities: list[int], rate: Fraction) -> list[Decimal]:
    step = (-Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
    best = max(utilities)
    return [step ** (best - utility) for utility in utilities]

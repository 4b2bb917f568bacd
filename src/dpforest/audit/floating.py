"""The attack on floating-point Laplace noise: the low bits of a release tell what it hides.

A double-precision Laplace sampler turns one of 2**53 uniform numbers into noise through a
logarithm, so it reaches only some of the doubles, and other ones once an exact value is added
(Mironov, "On Significance of the Least Significant Bits for Differential Privacy", 2012). An
attacker inverts the logarithm: a release that no uniform number could have made of the value v was
not made of v. Integer noise has no such holes: every step of the grid is reached from every value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.distinguish import audit
from dpforest.audit.mechanisms import Mechanism, Sampler, table
from dpforest.audit.report import AuditReport
from dpforest.audit.worlds import Pair, Table
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Pure
from dpforest.privacy.counts import count
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.randomness import RandomBits
from dpforest.privacy.opening import open_desk
from dpforest.schema import Schema
from dpforest.schema.features import NumericFeature, Target
from dpforest.tables.frames import Frame

NEAR = 3  # uniform numbers on either side that rounding may have led away from
COUNTS = (1, 2)


def reachable(release: float, value: float, scale: float) -> bool:
    """Whether NumPy's ``value + Laplace(scale)`` can come out as exactly this double.

    NumPy draws U, a multiple of 2**-53 below 1, and returns value + scale * log(2 U) for
    U < 1/2 and value - scale * log(2 - 2 U) otherwise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = [1.0 + rng.laplace(scale=2.0) for _ in range(200)]
    >>> sum(reachable(x, 1.0, 2.0) for x in draws) > sum(reachable(x, 0.0, 2.0) for x in draws)
    True
    """
    below = release < value
    tail = math.exp(-abs(release - value) / scale) / 2  # the uniform number, up to rounding
    middle = round((tail if below else 1.0 - tail) * 2.0**53)
    for k in range(max(1, middle - NEAR), min(middle + NEAR + 1, 2**53)):
        u = k * 2.0**-53
        noise = scale * math.log(u + u) if below else -scale * math.log(2.0 - u - u)
        if value + noise == release:
            return True
    return False


def attack_floating_point(
    *,
    ours: bool = True,
    epsilon: float = 1.0,
    trials: int = 20_000,
    random_state: int | None = None,
) -> AuditReport:
    """Play the distinguishing game with reachability as what the attacker sees.

    Parameters
    ----------
    ours : bool
        Attack a noisy count of this library; else a control with NumPy's floating-point noise.
    epsilon : float
    trials : int
    random_state : int, optional

    Examples
    --------
    >>> attack_floating_point(ours=True, trials=4000, random_state=0).leaks
    False
    >>> attack_floating_point(ours=False, trials=4000, random_state=0).leaks
    True
    """
    sampler = _ours(epsilon) if ours else _floating(epsilon, random_state)

    def sample(t: Table, n: int, bits: RandomBits) -> NDArray[np.float64]:
        releases = sampler(t, n, bits)[:, 0]
        reached = [[reachable(x, float(v), 1.0 / epsilon) for v in COUNTS] for x in releases]
        return np.column_stack([np.array(reached, np.float64), releases])

    pair = Pair("one more record", _count_of(COUNTS[0]), _count_of(COUNTS[1]))
    name = "low bits of our noisy count" if ours else "low bits of NumPy's Laplace noise"
    return audit(Mechanism(name, epsilon, [pair], sample), trials=trials, random_state=random_state)


def _count_of(n: int) -> Table:
    """A table of so many records."""
    return table([0.0] * n, [0] * n)


def _ours(epsilon: float) -> Sampler:
    """The desk's own count, released again and again from one opened table."""
    schema = Schema((NumericFeature("x", 0.0, 1.0),), Target(classes=(0, 1)))

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        budget = (epsilon, 0.0, Protection())
        opened = open_desk(
            Frame(t.X), t.y, schema, budget=budget[:2], protection=budget[2], draws=Draws(bits)
        )
        counts = [
            count(opened.reopened(Ledger(*budget), Draws(bits)), Pure(epsilon))
            for _ in range(trials)
        ]
        return np.array(counts)[:, None]

    return sample


def _floating(epsilon: float, seed: int | None) -> Sampler:
    """The control: what one would write down first."""
    rng = np.random.default_rng(seed)

    def sample(t: Table, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        return (float(len(t.y)) + rng.laplace(scale=1.0 / epsilon, size=trials))[:, None]

    return sample

"""What a release costs: losses, spends, branches of spends, and how their costs compose.

All of these are frozen values. Each loss is that between two *declared* neighbours: the loss of
one added or removed record, multiplied by ``Protection.steps``. Then both rules below hold
(``docs/privacy/ledger.md`` has the proof):

* sequential: pure epsilons add, squares of mu add, deltas add;
* parallel, for parts that share no record: the largest of each counts.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from dpforest.privacy.accounts.mechanisms_used import Mechanism

Rule = Literal["sequential", "parallel", "random stopping"]
# A float among the amounts is always math.inf: everything finite is an exact fraction.
Amount = Fraction | float


def exact(value: Amount | str, name: str = "epsilon") -> Amount:
    """Read a number of at least 0 exactly: floats by their shortest decimal, or math.inf.

    Examples
    --------
    >>> exact(0.3)
    Fraction(3, 10)
    """
    if isinstance(value, Fraction) and value >= 0:
        return value
    written = str(value)
    try:
        amount = math.inf if written == "inf" else Fraction(written)
        valid = amount >= 0
    except (ValueError, ZeroDivisionError):
        valid = False
    if not valid:
        raise ValueError(f"{name} is {value!r}, expected a number of at least 0")
    return amount


@dataclass(frozen=True, slots=True)
class Pure:
    """Loss of an epsilon-DP release.

    Examples
    --------
    >>> Pure(0.5)
    Pure(epsilon=Fraction(1, 2))
    """

    epsilon: Amount

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Loss of a mu-GDP release, such as Gaussian noise of standard deviation sensitivity/mu.

    Examples
    --------
    >>> Gaussian(0.24)
    Gaussian(mu=0.24)
    """

    mu: float

    def __post_init__(self) -> None:
        if not self.mu >= 0:
            raise ValueError(f"mu is {self.mu!r}, expected a number of at least 0")
        object.__setattr__(self, "mu", float(self.mu))


@dataclass(frozen=True, slots=True)
class Approximate:
    """Loss of an (epsilon, delta)-DP release, such as categories above a noisy threshold.

    Examples
    --------
    >>> Approximate(0.1, 1e-6)
    Approximate(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000))
    """

    epsilon: Amount
    delta: Amount

    def __post_init__(self) -> None:
        delta = exact(self.delta, "delta")
        if delta >= 1:
            raise ValueError(f"delta is {self.delta!r}, expected a number below 1")
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "delta", delta)


Loss = Pure | Gaussian | Approximate
Price = Pure | Gaussian
"""What a release may cost: discrete Laplace noise and choices, or discrete Gaussian noise."""


@dataclass(frozen=True, slots=True)
class Spend:
    """One release: what was asked, by which mechanism, and what it costs.

    Parameters
    ----------
    label, mechanism : str
        For readers.
    loss : Pure, Gaussian or Approximate
        What it costs.
    note : str
        What else a reader should know.
    made : Mechanism, optional
        What it was made of (`mechanisms_used`); the loss must follow from it.

    Examples
    --------
    >>> Spend("number of records", "discrete Laplace", Pure(0.1)).cost()
    Cost(pure={Fraction(1, 10): 1}, mu_squared=Fraction(0, 1), delta=Fraction(0, 1))
    """

    label: str
    mechanism: str
    loss: Loss
    note: str = ""
    made: "Mechanism | None" = None

    def __post_init__(self) -> None:
        if self.made is not None and self.made.loss != self.loss:
            raise ValueError(
                f"{self.label!r} costs {self.loss}, expected {self.made.loss}, which follows from "
                f"how it was made: {self.made}"
            )

    @classmethod
    def of(cls, label: str, mechanism: str, made: "Mechanism") -> "Spend":
        """A release that was made so, at the loss that follows."""
        return cls(label, mechanism, made.loss, made=made)

    def cost(self) -> "Cost":
        """Return what this release costs."""
        return _cost_of_loss(self.loss)


@dataclass(frozen=True, slots=True)
class Branch:
    """Several releases under one composition rule, ``times`` times over.

    Examples
    --------
    >>> leaf = Spend("class counts of a leaf", "discrete Laplace", Pure(0.01))
    >>> tree = Branch("leaves of a tree", "parallel", (leaf,), times=256)
    >>> Branch("trees", "sequential", (tree,), times=100).cost().epsilon
    Fraction(1, 1)
    """

    RULES: ClassVar[tuple[Rule, ...]] = ("sequential", "parallel")

    label: str
    rule: Rule
    parts: "tuple[Spend | Branch, ...]"
    times: int = 1

    def __post_init__(self) -> None:
        if self.rule not in self.RULES:
            raise ValueError(f"rule is {self.rule!r}, expected one of {self.RULES}")
        if not isinstance(self.times, int) or self.times < 1:
            raise ValueError(f"times is {self.times!r}, expected a whole number of at least 1")
        if not self.parts:
            raise ValueError(f"branch {self.label!r} has no parts, expected at least one")

    def cost(self) -> "Cost":
        """Return what the branch costs as a whole."""
        costs = [part.cost() for part in self.parts]
        if self.rule == "parallel":
            return reduce(Cost.beside, costs)
        return sum(costs, Cost()).repeated(self.times)


Entry = Spend | Branch


@dataclass(frozen=True, slots=True)
class Cost:
    """Composed losses, exactly: how many of each pure epsilon, the sum of mu^2, the sum of delta.

    Examples
    --------
    >>> cost = Spend("a", "Laplace", Pure(0.5)).cost() + Spend("b", "Gauss", Gaussian(0.25)).cost()
    >>> str(cost)
    'epsilon = 0.5, mu = 0.25'
    """

    pure: Mapping[Amount, int] = field(default_factory=dict)
    mu_squared: Amount = Fraction(0)
    delta: Amount = Fraction(0)

    @property
    def epsilon(self) -> Amount:
        """Sum of the pure epsilons."""
        return sum((epsilon * count for epsilon, count in self.pure.items()), Fraction(0))

    @property
    def mu(self) -> float:
        """Root of the sum of mu^2, rounded up."""
        if self.mu_squared == math.inf:
            return math.inf
        square = Fraction(self.mu_squared)
        # An integer root with 64 bits to spare: doubles would underflow for squares of tiny mu.
        bits = max(0, (square.denominator.bit_length() - square.numerator.bit_length()) // 2 + 64)
        above = math.isqrt((square.numerator << 2 * bits) // square.denominator) + 1
        root = float(Fraction(above, 1 << bits)) if square else 0.0
        return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)

    def __add__(self, other: "Cost") -> "Cost":
        """Compose sequentially."""
        pure = dict(self.pure)
        for epsilon, count in other.pure.items():
            pure[epsilon] = pure.get(epsilon, 0) + count
        return Cost(pure, self.mu_squared + other.mu_squared, self.delta + other.delta)

    def repeated(self, times: int) -> "Cost":
        """Compose this cost with itself, sequentially."""
        pure = {epsilon: count * times for epsilon, count in self.pure.items()}
        return Cost(pure, self.mu_squared * times, self.delta * times)

    def beside(self, other: "Cost") -> "Cost":
        """Compose in parallel.

        One release of the larger sum of epsilons covers either list of pure epsilons.
        """
        pure = self.pure
        if pure != other.pure:
            pure = {max(self.epsilon, other.epsilon): 1}
        mu_squared = max(self.mu_squared, other.mu_squared)
        return Cost(pure, mu_squared, max(self.delta, other.delta))

    def within(self, most: "Cost") -> bool:
        """Whether no part of this cost is above that of another one."""
        return (
            self.epsilon <= most.epsilon
            and self.delta <= most.delta
            and self.mu_squared <= most.mu_squared
        )

    def __str__(self) -> str:
        """Show the parts that are not zero."""
        amounts = {"epsilon": self.epsilon, "mu": self.mu, "delta": self.delta}
        shown = [f"{name} = {rounded_up(value)}" for name, value in amounts.items() if value > 0]
        return ", ".join(shown) or "free"


@lru_cache(maxsize=1024)
def _cost_of_loss(loss: Loss) -> Cost:
    match loss:
        case Gaussian(mu):
            return Cost(mu_squared=math.inf if mu == math.inf else Fraction(mu) ** 2)
        case Approximate(epsilon, delta):
            return Cost({epsilon: 1} if epsilon else {}, delta=delta)
        case Pure(epsilon):
            return Cost({epsilon: 1} if epsilon else {})


def rounded_up(value: Amount) -> str:
    """Return six significant digits, never fewer than the value holds (but for its last ulps).

    Examples
    --------
    >>> rounded_up(Fraction(1, 3))
    '0.333334'
    """
    if value == math.inf:
        return "inf"
    # Twelve digits first: the dust of binary fractions is no reason to show 0.100001 for 0.1.
    ratio = Fraction(value)
    near = Context(prec=12).divide(ratio.numerator, ratio.denominator)
    return f"{float(Context(prec=6, rounding=ROUND_CEILING).plus(near)):.6g}"


def spends_of(entries: Iterable[Entry]) -> Iterable[Spend]:
    """Yield every spend of the trees, each once, in order."""
    for entry in entries:
        if isinstance(entry, Branch):
            yield from spends_of(entry.parts)
        else:
            yield entry


def require_made(entries: Iterable[Entry]) -> None:
    """Raise ValueError for a release that does not say what it was made of: it may be forged."""
    for spend in spends_of(entries):
        if spend.made is None:
            raise ValueError(f"{spend.label!r} does not say what it was made of")

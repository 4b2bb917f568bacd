"""What releases were made of: values from which their losses follow.

A file that says what a release cost can be edited; one that also says how it was made can be
checked. Each value holds the public parameters of a mechanism, and `loss` works out what it costs
between the declared neighbours. ``docs/privacy`` has the proofs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, get_args

from dpforest.privacy.accounts.accounting import mu_of_discrete_gaussian
from dpforest.privacy.accounts.bounded_range import BoundedRange
from dpforest.privacy.accounts.set_aside import SetAside
from dpforest.privacy.accounts.spends import Amount, Approximate, Gaussian, Pure, exact
from dpforest.privacy.accounts.trainings import Training
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.trees.structure import Sampling

_OTHER_MACHINES = 1 + 1e-9  # logarithms may differ in their last digits from one to the next


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Discrete Laplace noise on integer totals; a scale of 0 is no noise.

    Parameters
    ----------
    scale : Fraction
        In steps of the grid of the totals.
    sensitivity : Fraction or int
        The largest L1 change between the declared neighbours, in the same steps.

    Examples
    --------
    >>> DiscreteLaplace(30, 3).loss
    Pure(epsilon=Fraction(1, 10))
    """

    scale: Amount
    sensitivity: Amount

    def __post_init__(self) -> None:
        _make_exact(self, "scale", "sensitivity")

    @property
    def loss(self) -> Pure:
        """Sensitivity over scale."""
        return Pure(_ratio(self.sensitivity, self.scale))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Discrete Gaussian noise on integer totals; a variance of 0 is no noise.

    Parameters
    ----------
    sigma2 : Fraction
        The variance, in squared steps of the grid of the totals.
    sensitivity : float
        The largest L2 change between the declared neighbours, in steps.

    Examples
    --------
    >>> round(DiscreteGaussian(904, 3.0).loss.mu, 6)
    0.1
    """

    sigma2: Amount
    sensitivity: float

    def __post_init__(self) -> None:
        _make_exact(self, "sigma2")
        object.__setattr__(self, "sensitivity", float(self.sensitivity))

    @property
    def loss(self) -> Gaussian:
        """Sensitivity over the deviation that the proof for discrete noise allows."""
        if not self.sigma2:
            return Gaussian(math.inf)
        return Gaussian(mu_of_discrete_gaussian(self.sensitivity, Fraction(self.sigma2)))


@dataclass(frozen=True, slots=True)
class Selection:
    """A private choice: exponential mechanism, permute-and-flip, or choices made of them.

    Parameters
    ----------
    name : str
    epsilon : Fraction
        For one added or removed record.
    steps : int
        Such records between the declared neighbours (`Protection.steps`).

    Examples
    --------
    >>> Selection("permute-and-flip", 0.1, steps=3).loss
    Pure(epsilon=Fraction(3, 10))
    """

    name: str
    epsilon: Amount
    steps: int

    def __post_init__(self) -> None:
        _make_exact(self, "epsilon")
        _require_counts(self, "steps")

    @property
    def loss(self) -> Pure:
        """By group privacy."""
        return Pure(self.epsilon * self.steps)


@dataclass(frozen=True, slots=True)
class Threshold:
    """Values that occur, named where count plus discrete Laplace noise reaches a threshold.

    Parameters
    ----------
    scale : Fraction
    sensitivity : Fraction or int
        The largest L1 change of the counts between the declared neighbours.
    delta : Fraction
        The chance to name a value that no other record has; the threshold follows from it.

    Examples
    --------
    >>> Threshold(10, 1, "1/1000000").loss
    Approximate(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000))
    """

    scale: Amount
    sensitivity: Amount
    delta: Amount

    def __post_init__(self) -> None:
        _make_exact(self, "scale", "sensitivity", "delta")

    @property
    def loss(self) -> Approximate:
        """Sensitivity over scale, and delta."""
        return Approximate(_ratio(self.sensitivity, self.scale), self.delta)


@dataclass(frozen=True, slots=True)
class OfTree:
    """A release about the records that a tree drew, at the price of the table's records.

    ``TreeSampling`` has the proof. Prices of samples do not simply add up, so a release is told
    how much of the forest's epsilon was spent before it and after it.

    Parameters
    ----------
    made : DiscreteLaplace or Selection
        What was released about the sample, for one added or removed record.
    kind, n_trees, share
        Those of `TreeSampling`.
    steps : int
        Added or removed records between the declared neighbours.
    before, after : Fraction
        Of the forest's epsilon.

    Examples
    --------
    >>> made = Selection("permute-and-flip", 0.25, steps=1)
    >>> OfTree(made, "without_replacement", 10, "1/2", 1, before=0, after=2).loss
    Pure(epsilon=Fraction(1, 5))
    """

    made: DiscreteLaplace | Selection
    kind: Sampling
    n_trees: int
    share: Amount
    steps: int
    before: Amount
    after: Amount

    def __post_init__(self) -> None:
        _make_exact(self, "share", "before", "after")
        _require_counts(self, "n_trees", "steps")
        allowed = self._difference(lambda epsilon: self._sampling.within_tree(epsilon, self.steps))
        if self.made.loss.epsilon > allowed * _OTHER_MACHINES:
            raise ValueError("a tree spends more on its sample than the sampling allows")

    @property
    def loss(self) -> Pure:
        """What the tree costs after the release less what it cost before."""
        return Pure(self._difference(self._sampling.price_of_tree))

    @property
    def _sampling(self) -> TreeSampling:
        return TreeSampling(self.kind, self.n_trees, Fraction(self.share))

    def _difference(self, amount: Any) -> Amount:
        after: Amount = amount(self.after)
        return after if math.isinf(after) else after - amount(self.before)


@dataclass(frozen=True, slots=True)
class AsPrinted:
    """A step of a paper that is not private: what the paper says it costs, in a void ledger.

    Examples
    --------
    >>> AsPrinted(0.5).loss
    Pure(epsilon=Fraction(1, 2))
    """

    epsilon: Amount

    def __post_init__(self) -> None:
        _make_exact(self, "epsilon")

    @property
    def loss(self) -> Pure:
        """What is claimed."""
        return Pure(self.epsilon)


@dataclass(frozen=True, slots=True)
class Public:
    """Something that neighbouring tables have in common: free.

    Examples
    --------
    >>> Public().loss
    Pure(epsilon=Fraction(0, 1))
    """

    @property
    def loss(self) -> Pure:
        """Nothing."""
        return Pure(0)


Mechanism = (
    DiscreteLaplace | DiscreteGaussian | Selection | BoundedRange | Threshold
    | OfTree | AsPrinted | Public | Training | SetAside
)  # fmt: skip
_BY_NAME: dict[str, type[Mechanism]] = {kind.__name__: kind for kind in get_args(Mechanism)}


def mechanism_to_dict(made: Mechanism) -> dict[str, Any]:
    """Return a JSON-safe form: the name of the class and its fields, exact numbers as strings.

    Examples
    --------
    >>> mechanism_to_dict(DiscreteLaplace(30, 3))
    {'mechanism': 'DiscreteLaplace', 'scale': '30', 'sensitivity': '3'}
    """
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    return {"mechanism": type(made).__name__} | {n: _plain(v) for n, v in values.items()}


def mechanism_from_dict(written: Mapping[str, Any]) -> Mechanism:
    """Read what `mechanism_to_dict` wrote; ValueError or TypeError when it is no mechanism."""
    kind = _BY_NAME.get(written["mechanism"])
    if kind is None:
        raise ValueError(f"mechanism is {written['mechanism']!r}, expected one of {[*_BY_NAME]}")
    values = {n: v for n, v in written.items() if n != "mechanism"}
    nested = {n: mechanism_from_dict(v) for n, v in values.items() if isinstance(v, Mapping)}
    return kind(**values | nested)


def _plain(value: Any) -> Any:
    if isinstance(value, Mechanism):
        return mechanism_to_dict(value)
    if isinstance(value, int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _make_exact(made: Any, *names: str) -> None:
    for name in names:
        object.__setattr__(made, name, exact(getattr(made, name), name))


def _require_counts(made: Any, *names: str) -> None:
    for name in names:
        value = getattr(made, name)
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} is {value!r}, expected a whole number of at least 1")


def _ratio(sensitivity: Amount, scale: Amount) -> Amount:
    """Sensitivity over scale; infinite without noise."""
    return sensitivity / scale if scale else math.inf

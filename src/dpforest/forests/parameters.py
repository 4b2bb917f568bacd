"""Checks of constructor parameters: before anything is read, with a remedy in every message."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal

from dpforest.privacy.accounts.budget import Budget

Auto = Literal["auto"]
Check = Callable[[str, Any], object]
"""``check(name, value)`` raises TypeError or ValueError when the value will not do."""


def check_epsilon(epsilon: Any) -> float:
    """A positive number; infinity asks for the non-private twin."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or math.isnan(float(epsilon)):
        raise TypeError(f"epsilon must be a number, got {epsilon!r}: epsilon=1.0 is a usual choice")
    if epsilon <= 0:
        raise ValueError(
            f"epsilon must be positive, got {epsilon!r}: smaller is more private; "
            "use math.inf for no privacy at all"
        )
    return float(epsilon)


def check_delta(delta: Any) -> float:
    """A number from 0 (pure epsilon) to below 1."""
    if isinstance(delta, bool) or not isinstance(delta, Real):
        raise TypeError(f"delta must be a number, got {delta!r}: delta=1e-6 is a usual choice")
    if not 0 <= float(delta) < 1:
        raise ValueError(
            f"delta must be at least 0 and below 1, got {delta!r}: choose it well below one over "
            "the number of records, or 0 for pure epsilon"
        )
    return float(delta)


def check_count(name: str, value: Any, low: int = 1) -> int:
    """A whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}")
    return int(value)


def check_count_or_auto(name: str, value: Any, low: int = 1) -> None:
    """A whole number of at least ``low``, or "auto"."""
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
    else:
        check_count(name, value, low)


def positive_or_auto(name: str, value: Any) -> None:
    """A positive number, or "auto"."""
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
    elif isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or 'auto', got {value!r}")
    else:
        positive(name, value)


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """A number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not low <= float(value) <= high:
        raise ValueError(f"{name} must be from {low:g} to {high:g}, got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """One of the choices."""
    if not any(value is choice or value == choice for choice in choices):
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")


# Checks of declared parameters: ``check(name, value)``, as `dpforest.forests.declared` calls them.


def epsilon(name: str, value: Any) -> None:
    """See `check_epsilon`."""
    check_epsilon(value)


def delta(name: str, value: Any) -> None:
    """See `check_delta`."""
    check_delta(value)


def budget(name: str, value: Any) -> None:
    """A shared budget or the path of one, or None."""
    if not isinstance(value, Budget | str | PathLike | None):
        raise TypeError(
            f"{name} must be a Budget, the path of one, or None, not {type(value).__name__}: "
            "Budget.create makes one"
        )


def threads(name: str, value: Any) -> None:
    """A number of threads, or None for all cores."""
    if value is not None and value == 0:
        raise ValueError(f"{name} must not be 0: use a number of threads, or None for all cores")


def count(low: int = 1) -> Check:
    """A whole number of at least ``low``."""
    return lambda name, value: check_count(name, value, low)


def count_or_auto(low: int = 1) -> Check:
    """A whole number of at least ``low``, or "auto"."""
    return lambda name, value: check_count_or_auto(name, value, low)


def number(low: float, high: float) -> Check:
    """A number from ``low`` to ``high``."""
    return lambda name, value: check_number(name, value, low, high)


def positive(name: str, value: Any) -> None:
    """A positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 < float(value) < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")


def share(name: str, value: Any) -> None:
    """A number between 0 and 1, neither included."""
    check_number(name, value, 0.0, 1.0)
    if not 0 < float(value) < 1:
        raise ValueError(f"{name} must be between 0 and 1, neither included, got {value!r}")


def choice(*choices: Any) -> Check:
    """One of the choices."""
    return lambda name, value: check_choice(name, value, choices)


def optional(check: Check) -> Check:
    """None, or what another check asks."""
    return lambda name, value: None if value is None else check(name, value)


def signs(name: str, value: Any) -> None:
    """None, or a dictionary from texts to -1, 0 and 1."""
    if value is None:
        return
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} must be a dictionary by the names of features, or None")
    odd = {key: sign for key, sign in value.items() if sign not in (-1, 0, 1)}
    if odd:
        raise ValueError(f"{name}: expected 1, 0 or -1, got {odd}")

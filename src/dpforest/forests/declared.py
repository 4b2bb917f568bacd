"""Parameters of estimators, declared once: name, type, default and check in one line.

scikit-learn reads the parameters of an estimator off the signature of its constructor. Here the
constructor is made from the declarations of a class and its bases, keyword-only, and does what
scikit-learn asks of it: it stores, and nothing else. `check_parameters` comes later, in ``fit``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, dataclass_transform

from dpforest.forests.parameters import Check, choice


@dataclass(frozen=True)
class Parameter:
    """A declared parameter: its default, and what is asked of a value."""

    default: Any
    check: Check | None


def parameter(*, default: Any, check: Check | None = None) -> Any:
    """Declare a parameter of an estimator.

    Parameters
    ----------
    default : object
    check : callable, optional
        ``check(name, value)`` raises TypeError or ValueError; see `dpforest.forests.parameters`.
    """
    return Parameter(default, check)


def one_of(*choices: Any, default: Any) -> Any:
    """Declare a parameter that is one of a few values."""
    return Parameter(default, choice(*choices))


def fitted(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that ``fit`` sets; there is none before, and the next fit drops it."""
    return _FITTED


def lent(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that an auditor or a search sets for a time; ``fit`` leaves it alone."""
    return _LENT


_FITTED, _LENT = object(), object()


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter, one_of, fitted, lent))
class Declared:
    """Gives a class the constructor that its declared parameters ask for.

    Examples
    --------
    >>> class Tree(Declared):
    ...     depth: int = parameter(default=3)
    >>> class Forest(Tree):
    ...     trees: int = parameter(default=10)
    >>> Forest(trees=5).depth, list(inspect.signature(Forest).parameters)
    (3, ['depth', 'trees'])
    """

    declared_parameters: dict[str, Parameter] = {}  # noqa: RUF012, each class has its own
    declared_results: frozenset[str] = frozenset()
    """The attributes that a fit sets."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        found: dict[str, Parameter] = {}
        results = set[str]()
        for base in reversed(cls.__mro__[1:]):
            found |= base.__dict__.get("declared_parameters", {})
            results |= base.__dict__.get("declared_results", frozenset())
        for name, value in list(vars(cls).items()):
            if isinstance(value, Parameter):
                found[name] = value
                delattr(cls, name)
            elif value is _FITTED or value is _LENT:
                results |= {name} if value is _FITTED else set()
                delattr(cls, name)
        cls.declared_parameters, cls.declared_results = found, frozenset(results)
        cls.__init__ = _constructor(cls, found)  # type: ignore[method-assign]

    def check_parameters(self) -> None:
        """Raise TypeError or ValueError for a value that will not do, by name."""
        for name, declared in self.declared_parameters.items():
            if declared.check is not None:
                declared.check(name, getattr(self, name))


def _constructor(cls: type, parameters: dict[str, Parameter]) -> Callable[..., None]:
    defaults = {name: declared.default for name, declared in parameters.items()}
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(inspect.Parameter(name, keyword, default=d) for name, d in defaults.items()),
        ]
    )

    def __init__(self: Any, **values: Any) -> None:
        for unknown in values.keys() - defaults.keys():
            raise TypeError(f"{type(self).__name__} has no parameter {unknown!r}")
        for name, value in {**defaults, **values}.items():
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__module__, __init__.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    return __init__

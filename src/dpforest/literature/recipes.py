"""What a recipe is: data, read and checked from the files in ``recipes/``.

A recipe names a system of the literature, says what its paper does and whether its guarantee
holds, and gives the parameters with which one of our estimators does the same. A new recipe is a
new table in a file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, get_args

from dpforest.literature.rules import RULES, resolve

FAMILIES = ("random", "greedy", "median", "matrix")

Status = Literal["holds", "repaired", "none"]
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Paper:
    """Where a system was published."""

    authors: str
    title: str
    year: int
    venue: str

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}, {self.year}"


@dataclass(frozen=True)
class Parts:
    """What a system is made of."""

    sampling: str
    splits: str
    budget: str
    leaves: str
    votes: str


@dataclass(frozen=True)
class Figure:
    """A published figure.

    Parameters
    ----------
    data : str
    epsilon, value : float or str
        Texts where a paper reports a range.
    source : str
        The document (its number among ours) and the place in it.
    measure : str
    about : bool
        Read off a plot.
    """

    data: str
    epsilon: float | str
    value: float | str
    source: str
    measure: str = "accuracy, %"
    about: bool = False

    def __str__(self) -> str:
        about = "about " if self.about else ""
        return (
            f"{self.data}, epsilon {self.epsilon}: {self.measure.replace(', %', '')} "
            f"{about}{self.value}{' %' if self.measure.endswith('%') else ''} ({self.source})"
        )


@dataclass(frozen=True)
class Description:
    """A system of the literature: its paper, parts, guarantee and figures, and our recipe for it.

    Parameters
    ----------
    name, title : str
    paper : Paper
    documents : tuple of str
        The documents of ours that describe it, by number.
    parts : Parts
    guarantee : {"holds", "repaired", "none"}
        Of what is printed: it holds; it does not and the recipe is repaired; or there is no
        repair, and no recipe.
    because : str
        Why it holds, what the repair is, or why there is none.
    flaws : tuple of str
        What is wrong with the print.
    published : tuple of Figure
    notes : tuple of str
        What the documents leave open and what was taken; what is odd in them.
    estimator : str
        ``module:Class``; empty for a system that is only described.
    parameters : dict
        Of the estimator. ``{"rule": name}`` stands for a function of the schema,
        `dpforest.literature.rules`.
    as_published : dict or None
        Parameters on top that follow the print; without a guarantee.
    not_offered : str
        Why the print, or the whole system, cannot be made; empty when it can.
    """

    name: str
    title: str
    paper: Paper
    documents: tuple[str, ...]
    parts: Parts
    guarantee: Status
    because: str
    flaws: tuple[str, ...] = ()
    published: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    estimator: str = ""
    parameters: Parameters = field(default_factory=dict)
    as_published: Parameters | None = None
    not_offered: str = ""

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise ValueError(f"recipe {self.name!r}: {problem}")

    def __str__(self) -> str:
        shown = [
            f"{self.name}: {self.title}",
            str(self.paper),
            f"documents: {', '.join(self.documents)}",
            *(f"{part.name}: {getattr(self.parts, part.name)}" for part in fields(Parts)),
            f"guarantee: {self.guarantee}. {self.because}",
            *_listed("printed flaws", self.flaws),
            *_listed("published", self.published),
            *_listed("notes", self.notes),
            *([f"made of: {_call(self)}"] if self.estimator else []),
            *_print_of(self.as_published),
            *([f"not offered: {self.not_offered}"] if self.not_offered else []),
        ]
        return "\n".join(shown)


@cache
def recipes() -> Mapping[str, Description]:
    """All recipes by name, family by family."""
    folder = resources.files("dpforest.literature") / "recipes"
    found: dict[str, Description] = {}
    for family in FAMILIES:
        text = (folder / f"{family}.toml").read_text(encoding="utf-8")
        for name, entry in tomllib.loads(text).items():
            if name in found:
                raise ValueError(f"recipe {name!r} is there twice")
            found[name] = parse(name, entry)
    return MappingProxyType(found)


def parse(name: str, entry: Mapping[str, Any]) -> Description:
    """A recipe from its table; ValueError or TypeError when the table is wrong."""
    rest = dict(entry)
    paper = Paper(rest.pop("authors"), rest.pop("paper"), rest.pop("year"), rest.pop("venue"))
    return Description(
        name=name,
        paper=paper,
        parts=Parts(**rest.pop("parts")),
        published=tuple(Figure(**figure) for figure in rest.pop("published", ())),
        documents=tuple(rest.pop("documents")),
        flaws=tuple(rest.pop("flaws", ())),
        notes=tuple(rest.pop("notes", ())),
        **rest,
    )


def _problems(recipe: Description) -> list[str]:
    """What contradicts itself."""
    printed = recipe.as_published is not None
    rules = [v["rule"] for v in recipe.parameters.values() if isinstance(v, Mapping)]
    checks = {
        f"the guarantee is one of {get_args(Status)}": recipe.guarantee in get_args(Status),
        "it needs a reason and a document": bool(recipe.because and recipe.documents),
        "a print that holds has no flaws and no other variant": recipe.guarantee != "holds"
        or not (recipe.flaws or printed or recipe.not_offered),
        "a repaired print has flaws, and follows them or says why not": recipe.guarantee
        != "repaired"
        or (bool(recipe.flaws) and printed != bool(recipe.not_offered)),
        "a system without a guarantee is not made, and says why": recipe.guarantee != "none"
        or (not recipe.estimator and not printed and bool(recipe.not_offered)),
        "the others name an estimator, module:Class": recipe.guarantee == "none"
        or recipe.estimator.count(":") == 1,
        f"rules are {sorted(RULES)}": set(rules) <= set(RULES),
    }
    return [problem for problem, holds in checks.items() if not holds]


def _print_of(as_published: Parameters | None) -> list[str]:
    if as_published is None:
        return []
    return [f"as published: {dict(as_published)}" if as_published else "as published: as printed"]


def _listed(title: str, entries: tuple[object, ...]) -> list[str]:
    return [f"{title}:", *(f"- {entry}" for entry in entries)] if entries else []


def _call(recipe: Description) -> str:
    shown = [
        f"{name}={value['rule'] if isinstance(value, Mapping) else repr(resolve(value, None))}"
        for name, value in recipe.parameters.items()
    ]
    return f"{recipe.estimator.split(':')[1]}({', '.join(shown)})"

"""Two records told apart: which cases differ, in which parts, and whether that is allowed."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Record = dict[str, Any]
Records = dict[str, Record]

# A refactoring must not touch these: what a model says, what it holds, what it promises.
FATAL = ("predictions", "arrays", "guarantee", "case")
N_SHOWN = 3


def differing_parts(before: Record, after: Record) -> tuple[str, ...]:
    """The parts of one case that differ, by name; "gone" and "new" where one side lacks it."""
    parts = []
    for part in sorted(before.keys() | after.keys()):
        old, new = before.get(part, {}), after.get(part, {})
        if isinstance(old, dict) and isinstance(new, dict):
            for key in sorted(old.keys() | new.keys()):
                if old.get(key) != new.get(key):
                    side = " (new)" if key not in old else " (gone)" if key not in new else ""
                    parts.append(f"{part}.{key}{side}")
        elif old != new:
            parts.append(part)
    return tuple(parts)


def find_differences(before: Records, after: Records) -> dict[tuple[str, ...], list[str]]:
    """The cases that differ, by the set of parts in which they do."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            parts: tuple[str, ...] = ("case (gone)",)
        elif name not in before:
            parts = ("case (new)",)
        else:
            parts = differing_parts(before[name], after[name])
        if parts:
            groups[parts].append(name)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def is_fatal(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(FATAL) for part in parts)


def first_differing_line(before: str, after: str) -> tuple[str, str]:
    lines = zip_longest(before.splitlines(), after.splitlines(), fillvalue="(no line)")
    return next((old, new) for old, new in lines if old != new)


def show(before: dict[str, Any], after: dict[str, Any], console: Console) -> int:
    """Print what differs; 1 if anything does that must not."""
    old, new = before["cases"], after["cases"]
    groups = find_differences(old, new)
    n_cases, n_differing = len(old.keys() | new.keys()), sum(map(len, groups.values()))
    for key in sorted(before["about"].keys() | after["about"].keys()):
        sides = [about["about"].get(key) for about in (before, after)]
        if sides[0] != sides[1]:
            console.print(f"{key}: {sides[0]} before, {sides[1]} after", highlight=False)
    console.print(f"{n_cases - n_differing} of {n_cases} cases are identical", highlight=False)
    if not groups:
        return 0
    table = Table("cases", "what differs", "such as", "allowed", show_lines=True)
    for parts, names in groups.items():
        more = [f"and {len(names) - N_SHOWN} more"] if len(names) > N_SHOWN else []
        shown = "\n".join([*names[:N_SHOWN], *more])
        allowed = "NO" if is_fatal(parts) else "yes"
        table.add_row(str(len(names)), escape("\n".join(parts)), escape(shown), allowed)
    console.print(table)
    for part in ("ledger", "error"):
        _show_texts(part, groups, old, new, console)
    return int(any(map(is_fatal, groups)))


def _show_texts(
    part: str,
    groups: dict[tuple[str, ...], list[str]],
    old: Records,
    new: Records,
    console: Console,
) -> None:
    """The first line that differs, once for each pair of lines."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for parts, names in groups.items():
        if part in parts:
            for name in names:
                texts = old[name].get(part, ""), new[name].get(part, "")
                seen[first_differing_line(*texts)].append(name)
    for (before, after), names in sorted(seen.items(), key=lambda item: -len(item[1])):
        console.print(f"\n{part} of {len(names)} cases, such as {escape(names[0])}:")
        console.print(f"  before: {escape(before)}\n  after:  {escape(after)}", highlight=False)

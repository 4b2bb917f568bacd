"""Show a reproduced table: to a reader at the terminal, in Markdown, and in CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from dpforest.reproduce.definitions import Settings
from dpforest.reproduce.summary import Entry, Result

HEADINGS = ("data", "method", "ours", "at", "paper", "at", "diff.", "within")
FIELDS = (
    "row", "column", "value", "standard_error", "settings", "published", "published_settings",
    "difference", "reproduced",
)  # fmt: skip


def write(result: Result, folder: Path, name: str) -> list[Path]:
    """Write the table as ``name.md`` and ``name.csv`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown, comma_separated = folder / f"{name}.md", folder / f"{name}.csv"
    markdown.write_text(as_markdown(result), encoding="utf-8")
    with comma_separated.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(_plain(entry) for entry in result.entries)
    return [markdown, comma_separated]


def show(result: Result, console: Console | None = None) -> None:
    """Print the table."""
    table = RichTable(title=result.table.title, box=box.SIMPLE_HEAD, padding=0)
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=True)
    before = ""
    for entry in result.entries:
        if before and entry.row != before:
            table.add_section()
        before = entry.row
        table.add_row(*_texts(result, entry))
    notes = (result.table.note, _legend(result), verdict(result))
    (console or Console()).print(table, *notes, "", sep="\n")


def as_markdown(result: Result) -> str:
    """The table, its note and the verdict, in Markdown."""
    rows = [HEADINGS, ("---",) * len(HEADINGS)]
    rows += [_texts(result, entry) for entry in result.entries]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    notes = f"{result.table.note} {_legend(result)}\n\n{verdict(result)}"
    return f"## {result.table.title}\n\n{table}\n\n{notes}\n"


def verdict(result: Result) -> str:
    """One sentence: how many of the figures are as good as published, and within what."""
    judged = [entry for entry in result.entries if entry.reproduced is not None]
    if not judged:
        return "The paper gives no figures to hold these against."
    good = sum(bool(entry.reproduced) for entry in judged)
    allowed = sorted(result.table.allowed(entry.published) for entry in judged if entry.published)
    if allowed[0] < allowed[-1]:
        bar = (
            f"each within its own tolerance ({allowed[0]:g} to {allowed[-1]:g}) of the published "
            "value"
        )
    else:
        bar = f"within {allowed[0]:g} of the published value" if allowed[0] else "as published"
    return f"{good} of {len(judged)} figures are {bar} or better."


def _legend(result: Result) -> str:
    return f"At: {', '.join(_names(result))}."


def _names(result: Result) -> list[str]:
    """The parameters of the grid, in the order in which they are shown."""
    return list(dict.fromkeys(name for row in result.table.rows for name in row.grid))


def _texts(result: Result, entry: Entry) -> tuple[str, ...]:
    found, published = entry.found, entry.published
    difference = "" if entry.difference is None else f"{entry.difference:+.2f}"
    reason = next(row.unavailable for row in result.table.rows if row.label == entry.row)
    return (
        entry.row,
        entry.column,
        reason if found is None else f"{found.value:.2f} ± {found.standard_error:.2f}",
        "" if found is None else _values(result, found.settings),
        "" if published is None else f"{published.value:.2f}",
        "" if published is None else _values(result, published.settings),
        difference,
        {None: "", True: "yes", False: "NO"}[entry.reproduced],
    )


def _values(result: Result, settings: Settings) -> str:
    return ", ".join(str(settings.get(name, "?")) for name in _names(result)) if settings else ""


def _named(settings: Settings) -> str:
    return ", ".join(f"{name} {settings[name]}" for name in sorted(settings))


def _plain(entry: Entry) -> dict[str, object]:
    """An entry for the CSV file; what is not there stays empty."""
    plain: dict[str, object] = {"row": entry.row, "column": entry.column}
    if entry.found is not None:
        plain["value"] = f"{entry.found.value:.6g}"
        plain["standard_error"] = f"{entry.found.standard_error:.6g}"
        plain["settings"] = _named(entry.found.settings)
    if entry.published is not None:
        plain["published"] = entry.published.value
        plain["published_settings"] = _named(entry.published.settings)
    if entry.difference is not None:
        plain["difference"] = f"{entry.difference:.6g}"
        plain["reproduced"] = entry.reproduced
    return plain

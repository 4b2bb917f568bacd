"""Markup that is safe by construction: whatever is not `Html` already is escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

LONGEST = 160  # characters of a name or a text that somebody else wrote
VOID = ("meta", "link")


class Html(str):
    """Text that is markup already; all other texts are escaped where they meet it."""

    __slots__ = ()


Child = str | int | float | None


def tag(name: str, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """Make an element; texts are escaped, None is left out, and ``class_`` stands for class.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", "yes"), class_="note")
    '<p class="note">a &lt; b <b>yes</b></p>'
    """
    pairs = [(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()]
    written = "".join(
        f" {key}" if value is True else f' {key}="{html.escape(str(value))}"'
        for key, value in pairs
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[Child], between: str = "") -> Html:
    """Put markup and texts one after the other."""
    return Html(html.escape(between).join(safe(child) for child in children if child is not None))


def safe(child: Child) -> Html:
    """Escape what is not markup."""
    return child if isinstance(child, Html) else Html(html.escape(str(child)))


def short(value: object, most: int = LONGEST) -> str:
    """Cut a text that is too long for a page."""
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def table(
    heads: Sequence[Child],
    rows: Iterable[Sequence[Child]],
    numbers: Iterable[int] = (),
    marked: Iterable[int] = (),
    slim: bool = False,
) -> Html:
    """Make a table; on a narrow screen it scrolls by itself.

    Parameters
    ----------
    heads, rows : sequences
        The first cell of a row is its name.
    numbers : iterable of int
        Columns that are aligned to the right.
    marked : iterable of int
        Rows that stand out.
    slim : bool
        No wider than its few numbers need.
    """
    right, here = set(numbers), set(marked)

    def cell(i: int, content: Child, kind: str, scope: str | None = None) -> Html:
        return tag(kind, content, class_="number" if i in right else None, scope=scope)

    head = tag("tr", *(cell(i, name, "th", "col") for i, name in enumerate(heads)))
    body = [
        tag(
            "tr",
            *(cell(i, c, "td" if i else "th", None if i else "row") for i, c in enumerate(row)),
            class_="this" if place in here else None,
        )
        for place, row in enumerate(rows)
    ]
    # A region that scrolls must be reachable by keyboard.
    made = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", made, class_="wide slim" if slim else "wide", tabindex=0)


def terms(pairs: Iterable[tuple[Child, Child]], class_: str = "terms") -> Html:
    """Make a list of terms and what they are."""
    rows = (tag("div", tag("dt", term), tag("dd", told)) for term, told in pairs)
    return tag("dl", *rows, class_=class_)


def folded(
    summary: Child, *children: Child, open_: bool = False, class_: str | None = None
) -> Html:
    """Make something to open."""
    return tag("details", tag("summary", summary), *children, open=open_, class_=class_)


def number(value: float | None, digits: int = 4) -> str:
    """Show a number: thousands apart, no more digits than asked, "unknown" for none.

    Examples
    --------
    >>> number(12345.678), number(0.84321), number(1e-06), number(2.0), number(None)
    ('12,346', '0.8432', '0.000001', '2', 'unknown')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    size = abs(value)
    if size >= 10**15 or 0 < size < 1e-9:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - math.floor(math.log10(size))) if size else 0
    shown = f"{value:,.{min(places, 15)}f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return shown.replace("-", "−")


def percent(share: float, up: bool = True) -> str:
    """Show a share to a tenth of a percent, bounds rounded to the safe side.

    Examples
    --------
    >>> percent(0.73105), percent(0.73105, up=False), percent(0.99995)
    ('73.2%', '73.1%', '99.995%')
    """
    # Nearly certain is not certain: two digits more.
    steps = 1000 if share <= 0.999 else 100_000
    whole = math.ceil(share * steps - 1e-9) if up else math.floor(share * steps + 1e-9)
    return f"{100 * whole / steps:.3f}".rstrip("0").rstrip(".") + "%"


def moment(written: str) -> str:
    """Show a date and time of a file to the minute.

    Examples
    --------
    >>> moment("2026-11-15T19:23:41+00:00")
    '2026-11-15 19:23 UTC'
    """
    return f"{written[:10]} {written[11:16]} UTC"

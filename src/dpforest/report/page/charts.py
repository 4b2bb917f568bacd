"""Pictures as inline SVG: no library, no script, colours from the style of the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dpforest.report.page.markup import Html, joined, number, short, tag

WIDTH, HEIGHT = 320, 190
LEFT, RIGHT, TOP, BOTTOM = 38, 8, 8, 30
LETTER = 6.4  # the width of a letter of a label
Points = Sequence[tuple[float, float]]


def bars(values: Mapping[str, float], told: Mapping[str, str] | None = None) -> Html:
    """Draw a bar for each name, in the order given; the longest fills its track."""
    most, notes = max([*values.values(), 0.0]) or 1.0, told or {}
    parts = (
        joined(
            [
                tag("span", short(name, 60), tag("span", notes.get(name, ""), class_="how")),
                meter(value / most),
                tag("span", f"{100 * value:.1f}%", class_="number"),
            ]
        )
        for name, value in values.items()
    )
    return tag("div", *parts, class_="bars")


def meter(share: float) -> Html:
    """Draw a share of a whole as a thin bar."""
    width = f"width:{100 * min(max(share, 0.0), 1.0):.2f}%"
    return tag("span", tag("i", "", style=width), class_="meter", aria_hidden="true")


def scale(share: float, told: str, ends: tuple[str, str]) -> Html:
    """Draw where a value lies between two ends, as a share of the way."""
    return tag(
        "div",
        tag("b", told, style=f"margin-left:{100 * min(max(share, 0.0), 0.9):.1f}%"),
        meter(share),
        tag("span", tag("span", ends[0]), tag("span", ends[1]), class_="ends"),
        class_="scale",
    )


def tracks(rows: Mapping[str, Sequence[float]], low: float, high: float) -> Html:
    """Draw a line of dots for each name, all on one scale; the dots of a line are its classes."""
    span = (high - low) or 1.0

    def dot(colour: int, value: float) -> Html:
        return tag("i", "", class_=f"b{colour}", style=f"left:{100 * (value - low) / span:.2f}%")

    parts = (
        joined(
            [
                tag("span", short(name, 40)),
                tag("span", *(dot(c, v) for c, v in enumerate(values)), class_="track"),
                tag("span", number(values[0], 3) if len(values) == 1 else "", class_="number"),
            ]
        )
        for name, values in rows.items()
    )
    ends = tag("span", tag("span", number(low, 3)), tag("span", number(high, 3)), class_="ends")
    return tag("div", *parts, tag("span", ""), ends, class_="bars tracks")


class Plot:
    """A small picture with two axes, to which lines, steps and bands are added.

    Parameters
    ----------
    x, y : tuple of float
        What the axes span.
    """

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self._x, self._y = x, y
        self._parts: list[Html] = []
        self._x_labels: list[tuple[float, str]] = []

    def curve(self, points: Points, colour: int) -> None:
        """Add a line through points."""
        self._parts.append(tag("path", d=self._path(points), class_=f"curve c{colour}"))

    def guide(self, points: Points) -> None:
        """Add a dotted line to compare with."""
        self._parts.append(tag("path", d=self._path(points), class_="guide"))

    def band(self, upper: Points, lower: Points) -> None:
        """Add an area between two lines."""
        path = self._path([*upper, *reversed(lower)]) + "Z"
        self._parts.append(tag("path", d=path, class_="band"))

    def name_x(self, labels: Sequence[tuple[float, str]]) -> None:
        """Say what is where on the x axis."""
        self._x_labels = list(labels)

    def draw(self, caption: str, told: str, legend: Sequence[str] = ()) -> Html:
        """Return the figure."""
        marks = ticks(*self._y)
        digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9))
        grid = [
            joined(
                [
                    tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{self._at_y(y):.1f}",
                        y2=f"{self._at_y(y):.1f}", class_="axis"),
                    tag("text", _tick(y, digits), x=LEFT - 5, y=f"{self._at_y(y) + 4:.1f}",
                        text_anchor="end"),
                ]
            )
            for y in marks
        ]  # fmt: skip
        svg = tag(
            "svg",
            *grid,
            *self._parts,
            *self._written_labels(),
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=told,
        )
        return tag("figure", tag("figcaption", caption), svg, legend_of(legend))

    def _written_labels(self) -> list[Html]:
        """The labels that do not run into their neighbours; the ends come first."""
        placed: list[tuple[float, float, float, str]] = []
        order = [*self._x_labels[:1], *self._x_labels[-1:], *self._x_labels[1:-1]]
        for x, label in order:
            width = LETTER * len(label)
            middle = min(max(self._at_x(x), width / 2), WIDTH - width / 2)
            start, end = middle - width / 2, middle + width / 2
            if all(end + LETTER < a or start > b + LETTER for a, b, _, _ in placed):
                placed.append((start, end, middle, label))
        return [
            tag("text", label, x=f"{middle:.1f}", y=HEIGHT - 10, text_anchor="middle")
            for _, _, middle, label in placed
        ]

    def _path(self, points: Points) -> str:
        steps = [f"{self._at_x(x):.1f},{self._at_y(y):.1f}" for x, y in points]
        return "M" + "L".join(steps)

    def _at_x(self, x: float) -> float:
        low, high = self._x
        return LEFT + (x - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    def _at_y(self, y: float) -> float:
        low, high = self._y
        return HEIGHT - BOTTOM - (y - low) / ((high - low) or 1.0) * (HEIGHT - TOP - BOTTOM)


def legend_of(names: Sequence[str]) -> Html | None:
    """Name the colours; None where there is one line only."""
    if not names:
        return None
    items = (
        tag(
            "li",
            tag("svg", tag("path", d="M1,5h20", class_=f"curve c{i}"), viewBox="0 0 22 10",
                aria_hidden="true"),
            short(name, 40),
        )
        for i, name in enumerate(names)
    )  # fmt: skip
    return tag("ul", *items, class_="legend")


def ticks(low: float, high: float) -> list[float]:
    """Round numbers that cover a range, three to seven of them.

    Examples
    --------
    >>> ticks(0.07, 0.58)
    [0.0, 0.2, 0.4, 0.6]
    """
    largest = max(abs(low), abs(high))
    flat = high - low <= 1e-9 * largest
    rough = (largest if flat else high - low) / 4 or 1.0
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, max(last, first + 1) + 1)]


def compact(value: float) -> str:
    """Show a number in few letters.

    Examples
    --------
    >>> compact(506_030), compact(1e6), compact(43.5)
    ('506k', '1M', '43.5')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "")):
        if abs(value) >= size:
            return number(value / (size if letter else 1e3), 3) + (letter or "k")
    return number(value, 3)


def _tick(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if abs(value) < 1000 else compact(value)

"""How a CSV file is written: its separator and its encoding.

Both are asked for, or follow from the first line alone, which names the columns and is public:

- the encoding is what the mark at the very beginning says (UTF-8, UTF-16), and else UTF-8;
- the separator is that of comma, semicolon, tab and bar which the first line holds most often
  outside of quotes; a comma where there is none, and the first of these where two are as frequent.

No record is looked at, so none changes how another one is read.

A record is a line. From a cell whose quotes do not end on its line readers would go on to the next
quote, over all records in between, and which stray quotes begin such a cell differs from reader to
reader: so quotes are around whole cells, end on their line and are doubled within, or the file is
refused.
"""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

SEPARATORS = (",", ";", "\t", "|")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
PIECE = 1 << 24  # characters that are looked at together
NEW_LINE, RETURN, QUOTE = b'\n\r"'


@dataclass(frozen=True)
class Asked:
    """What was asked for with --sep and --encoding; None where the header is to tell."""

    separator: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        separator = {"tab": "\t", "\\t": "\t"}.get(self.separator or "", self.separator)
        if separator is not None and (len(separator) != 1 or separator in "\"'\r\n "):
            raise ValueError(f"--sep {self.separator!r}: expected one character, or the word tab")
        object.__setattr__(self, "separator", separator)
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise ValueError(
                f"--encoding {self.encoding!r} is not known: expected, for example, utf-8, latin-1 "
                "or cp1252"
            ) from None

    @property
    def anything(self) -> bool:
        """Whether anything was asked for."""
        return self.separator is not None or self.encoding is not None


@dataclass(frozen=True)
class CsvLayout:
    """How a file is written, and the names in its header."""

    separator: str
    encoding: str
    header: tuple[str, ...]


def layout_of(path: Path, asked: Asked) -> CsvLayout:
    """Find out how a file is written, from what was asked for and its first line."""
    encoding = asked.encoding or _marked_encoding(path)
    with open_text(path, encoding=encoding) as file:
        first = file.readline()
        separator = asked.separator or separator_of(first)
        file.seek(0)
        header = next(csv.reader(file, delimiter=separator), [])
    return CsvLayout(separator, encoding, tuple(header))


def separator_of(line: str) -> str:
    """Return the separator that a header line holds most often outside of quotes.

    Examples
    --------
    >>> separator_of('age;"hours, a week";income')
    ';'
    """
    outside = "".join(line.split('"')[::2])
    return max(SEPARATORS, key=outside.count)


def odd_line(path: Path, layout: CsvLayout) -> int | None:
    """The number of the first line whose quotes are not those of whole cells; None if all are."""
    separator = layout.separator.encode()
    before, rest, mark = 0, b"", "\ufeff"
    with open_text(path, encoding=layout.encoding) as file:
        while piece := file.read(PIECE):
            data, mark = rest + piece.removeprefix(mark).encode(), ""
            # Whole lines are looked at: the last one when all of it is there.
            end = data.rfind(b"\n") + 1
            lines, rest = data[:end], data[end:]
            if (odd := _first_odd(lines, separator)) is not None:
                return before + odd
            before += _count_lines(lines)
    odd = _first_odd(rest, separator)
    return None if odd is None else before + odd


def odd_line_error(path: Path, line: int) -> ValueError:
    """Return the error that names the line, and none of its cells."""
    return ValueError(
        f"{path}, line {line}: its quotes do not end there, or are not around a whole cell. A "
        "record is one line; quotes begin and end a cell, and are doubled within it: take line "
        "breaks and stray quotes out of the cells, or write the table as Parquet"
    )


def _first_odd(lines: bytes, separator: bytes) -> int | None:
    if b'"' not in lines:
        return None
    odd = _odd_quotes(lines, separator)
    return _count_lines(lines[: odd.min()]) + 1 if odd.size else None


def _odd_quotes(data: bytes, separator: bytes) -> NDArray[np.int64]:
    """Where quotes begin within a cell or end before its end, and line breaks within quotes."""
    # A line break on either side, so that everything has something before and after it.
    text = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes, breaks = text == QUOTE, (text == NEW_LINE) | (text == RETURN)
    ends = np.zeros(len(text) + len(separator), np.bool_)  # where a separator has just ended
    starts = np.ones(len(text), np.bool_)
    for k, byte in enumerate(separator):
        starts[: len(text) - k] &= text[k:] == byte
    ends[len(separator) :] = starts
    places = np.flatnonzero(quotes)
    first, last = places[::2], places[1::2]  # one quote begins, the next one ends
    apart = breaks | quotes  # two quotes are one within a cell
    begins_odd = first[~(apart[first - 1] | ends[first])]
    ends_odd = last[~(apart[last + 1] | starts[last + 1])]
    at_breaks = np.flatnonzero(breaks)
    inside = at_breaks[np.searchsorted(places, at_breaks) % 2 == 1]
    return np.concatenate([begins_odd, ends_odd, inside]) - 1


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def open_text(path: Path, mode: str = "rt", encoding: str = "utf-8") -> TextIO:
    """Open a CSV file, gzipped or not."""
    opener: Callable[..., Any] = gzip.open if path.name.lower().endswith(".gz") else open
    file: TextIO = opener(path, mode, newline="", encoding=encoding)
    return file


def _marked_encoding(path: Path) -> str:
    opener: Callable[..., Any] = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        start = file.read(4)
    return next((name for mark, name in MARKS if start.startswith(mark)), "utf-8")

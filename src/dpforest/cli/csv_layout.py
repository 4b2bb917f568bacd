"""How a CSV file is written: its separator and its encoding.

Both are asked for, or follow from the first line alone, which names the columns and is public:

- the encoding is what the mark at the very beginning says (UTF-8, UTF-16), and else UTF-8;
- the separator is that of comma, semicolon, tab and bar which the first line holds most often
  outside of quotes; a comma where there is none, and the first of these where two are as frequent.

No record is looked at, so none changes how another one is read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

SEPARATORS = (",", ";", "\t", "|")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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

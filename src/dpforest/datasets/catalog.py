"""What is known of each data set before it is read: columns, ranges, classes, checksum, OpenML id.

``catalog.json`` ships with the package; an entry has the shape that ``Schema.from_dict`` reads.
Bounds are the documented ranges where a data set documents them and the published extremes
elsewhere: these are public data. ``counts`` are the published class counts, by which a downloaded
copy is recognised. A folder of data (``DPFOREST_DATA``) may describe further data sets in a
``datasets.json`` of the same shape.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

Entry = Mapping[str, Any]


@cache
def packaged() -> Mapping[str, Entry]:
    """Return the entries that ship with the package."""
    text = files("dpforest.datasets").joinpath("catalog.json").read_text(encoding="utf-8")
    entries: Mapping[str, Entry] = json.loads(text)
    return entries


def entries(folder: Path | None) -> Mapping[str, Entry]:
    """Return the packaged entries and those that only the folder's ``datasets.json`` describes."""
    description = None if folder is None else folder / "datasets.json"
    if description is None or not description.is_file():
        return packaged()
    return {**json.loads(description.read_text(encoding="utf-8")), **packaged()}


def entry(name: str, folder: Path | None) -> Entry:
    """Return the entry of one data set; an unknown name is answered with the known ones."""
    known = entries(folder)
    if name not in known:
        raise ValueError(f"no data set is called {name!r}; there are: {', '.join(sorted(known))}")
    return known[name]

"""Download a data set from OpenML and write it as the catalogue describes it.

OpenML's copies carry other column names (V1, x1, sepallength), other labels (1/2 for 0/1) and
another row order. Columns are matched by name, else by position; labels by value, else by the
published class counts; then everything is checked against the catalogue, so that a different copy
is refused rather than mistaken.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.datasets import fetch_openml

from dpforest.datasets.catalog import Entry


def download(name: str, entry: Entry, path: Path) -> None:
    """Fetch a data set, check it against its entry and write it to ``path`` as gzipped CSV."""
    number = entry.get("openml_id")
    if number is None:
        raise OSError(
            f"{name} is not on OpenML; set DPFOREST_DATA to a folder that holds {name}.csv.gz"
        )
    bunch = _fetch(name, number)
    table = _features(name, entry, bunch.data)
    table["target"] = _target(name, entry, bunch.target)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    table.to_csv(partial, index=False, compression={"method": "gzip", "mtime": 0})
    os.replace(partial, path)


def _fetch(name: str, number: int) -> Any:
    try:
        return fetch_openml(data_id=number, as_frame=True, cache=False)
    except ImportError as error:
        raise ImportError(
            f"downloading {name} needs pandas; install it with: pip install pandas"
        ) from error
    except OSError as error:
        raise OSError(
            f"{name} could not be downloaded from OpenML (data set {number}); check the network, "
            f"or set DPFOREST_DATA to a folder that holds {name}.csv.gz"
        ) from error


def _features(name: str, entry: Entry, data: Any) -> Any:
    """Return the columns under the catalogue's names, in its order, checked against the schema."""
    wanted = [feature["name"] for feature in entry["features"]]
    if len(data) != entry["n_rows"] or data.shape[1] != len(wanted):
        raise _another_copy(name, "the number of rows or columns")
    table = data.rename(columns=_renaming(wanted, list(data.columns)))[wanted].copy()
    for feature in entry["features"]:
        column = feature["name"]
        if feature["kind"] == "categorical":
            table[column] = _as_text(table[column])
            fits = set(table[column].dropna()) <= set(feature["categories"])
        else:
            table[column] = table[column].astype("float64")
            # some published tables leave their documented range, so only the scale is checked
            fits = table[column].median() >= feature["low"]
            fits &= table[column].median() <= feature["high"]
        if not fits:
            raise _another_copy(name, f"column {column!r}")
    return table


def _renaming(wanted: Sequence[str], found: Sequence[str]) -> dict[str, str]:
    """Map OpenML's columns to ours: by name (letters and digits only), else by position."""
    by_name = {_plain(column): column for column in wanted}
    if {_plain(column) for column in found} == set(by_name):
        return {column: by_name[_plain(column)] for column in found}
    return dict(zip(found, wanted, strict=True))


def _plain(column: str) -> str:
    return "".join(letter for letter in column.lower() if letter.isalnum())


def _as_text(column: Any) -> Any:
    """Return a column as text, whole numbers without a decimal point, missing cells kept."""
    if column.dtype.kind in "iuf":
        column = column.astype("Int64")
    return column.astype("object").where(column.notna(), None).map(str, na_action="ignore")


def _target(name: str, entry: Entry, values: Any) -> Any:
    """Return the labels in the catalogue's spelling, known by value or by published count."""
    if "classes" not in entry["target"]:
        return values.astype("float64")
    expected = entry["target"]["counts"]
    labels = _as_text(values)
    found = labels.value_counts().to_dict()
    if found == expected:
        return labels
    by_count = {count: label for label, count in expected.items()}
    if len(by_count) < len(expected) or sorted(found.values()) != sorted(by_count):
        raise _another_copy(name, "the class counts")
    return labels.map({label: by_count[count] for label, count in found.items()})


def _another_copy(name: str, what: str) -> OSError:
    return OSError(
        f"OpenML's copy of {name} is not the one of the catalogue ({what} differs); "
        f"set DPFOREST_DATA to a folder that holds {name}.csv.gz"
    )

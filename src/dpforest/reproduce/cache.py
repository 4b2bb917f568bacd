"""Finished cells on disk, a JSON line each, so that an interrupted run continues."""

from __future__ import annotations

import json
from pathlib import Path

Figures = dict[str, float]


class CellCache:
    """Figures of finished cells by their key, appended to a file as they come.

    A line cut short by an interruption is skipped, and its cell runs again.

    Parameters
    ----------
    path : Path
        The file; made when the first cell is done.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Figures] = {}
        self._whole = True
        if path.exists():
            self._read(path.read_text(encoding="utf-8"))

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __getitem__(self, key: str) -> Figures:
        return self._values[key]

    def __len__(self) -> int:
        return len(self._values)

    def add(self, key: str, values: Figures) -> None:
        """Keep the values of a cell, on disk before anything else happens."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"key": key, "values": values})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n" if self._whole else "\n" + line + "\n")
        self._whole = True
        self._values[key] = values

    def _read(self, text: str) -> None:
        self._whole = not text or text.endswith("\n")
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                self._values[entry["key"]] = entry["values"]
            except (ValueError, KeyError, TypeError):
                continue

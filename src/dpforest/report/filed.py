"""The report as an object: the page, and how it is put into a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpforest.new_files import write_file


@dataclass(frozen=True)
class Report:
    """A page about a model, made by ``model.report()``.

    Parameters
    ----------
    html : str
        The whole page: it loads nothing from elsewhere.
    """

    html: str

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or Path
            By custom ``name.html``.
        overwrite : bool, default=False
            Replace a file that is there; FileExistsError otherwise.
        """
        write_file(path, self.html.encode(), overwrite=overwrite)

    def __repr__(self) -> str:
        """Short: the page itself is long."""
        return f"<Report: {len(self.html.encode()):,} bytes of HTML>"

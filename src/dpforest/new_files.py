"""Files that are written where there is room: a missing folder is named, nothing is replaced."""

from __future__ import annotations

from pathlib import Path


def require_folder(path: Path) -> None:
    """FileNotFoundError where a file cannot be written, for its folder is not there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {path.parent.absolute()}; create it "
            "first, or give another path"
        )


def already_there(path: Path) -> FileExistsError:
    """The error of who would replace a file without having asked for it."""
    return FileExistsError(
        f"{path} exists and was not overwritten: give another name, or say overwrite=True"
    )


def write_file(path: str | Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file; FileExistsError where there is one, unless it is to be overwritten."""
    path = Path(path)
    require_folder(path)
    try:
        with path.open("wb" if overwrite else "xb") as file:
            file.write(content)
    except FileExistsError:
        raise already_there(path) from None

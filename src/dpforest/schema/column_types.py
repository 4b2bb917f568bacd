"""What may be declared of a column before its values are described: its type."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

ColumnType = Literal["integer", "number", "category", "boolean"]
"""Whole numbers, numbers, texts (or codes) of which there are some, or true and false."""

Types = Mapping[str, ColumnType] | Literal["frame"]
"""Declared types by column; "frame" declares those of a typed frame."""


def check_types(types: object, names: Sequence[str]) -> None:
    """Raise ValueError unless they are "frame", or types by the names of columns."""
    known = get_args(ColumnType)
    if types == "frame":
        return
    if not isinstance(types, Mapping):
        raise ValueError(
            f"types: expected 'frame' or a dictionary of columns and {known}, "
            f"got {type(types).__name__}"
        )
    strangers = [name for name in types if name not in names]
    if strangers:
        raise ValueError(f"types: no such columns: {strangers}; columns are {list(names)}")
    odd = {name: declared for name, declared in types.items() if declared not in known}
    if odd:
        raise ValueError(f"types: {odd} is not known, expected one of {known}")

"""What a guarantee protects: the neighbouring data sets it speaks about."""

from dataclasses import dataclass
from typing import Literal

Neighbors = Literal["add_remove", "replace_one"]
Unit = Literal["record", "group"]


@dataclass(frozen=True, slots=True)
class Protection:
    """The neighbours of a guarantee: one record or one person, added, removed or replaced.

    Parameters
    ----------
    neighbors : {"add_remove", "replace_one"}
        "replace_one" makes the number of records (or persons) public.
    unit : {"record", "group"}
        A group is a person: all records that share a value of ``groups``.
    max_records_per_group : int
        How many records of one person are kept at most; 1 when the unit is a record.

    Examples
    --------
    >>> person = Protection(unit="group", max_records_per_group=3)
    >>> person.describe()
    'adding or removing one person (at most 3 records each)'
    >>> person.steps
    3
    """

    neighbors: Neighbors = "add_remove"
    unit: Unit = "record"
    max_records_per_group: int = 1

    def __post_init__(self) -> None:
        if self.neighbors not in ("add_remove", "replace_one"):
            raise ValueError(
                f"neighbors is {self.neighbors!r}, expected 'add_remove' or 'replace_one'"
            )
        if self.unit not in ("record", "group"):
            raise ValueError(f"unit is {self.unit!r}, expected 'record' or 'group'")
        most = self.max_records_per_group
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise ValueError(
                f"max_records_per_group is {most!r}, expected a whole number of at least 1"
            )
        if self.unit == "record" and most != 1:
            raise ValueError(
                f"max_records_per_group is {most} but the unit is a record: "
                "pass unit='group' to protect persons, or leave it at 1"
            )

    @property
    def steps(self) -> int:
        """How many single records must be added or removed to get from a data set to a neighbour.

        Losses and sensitivities of one added or removed record are multiplied by it.
        """
        return self.max_records_per_group * (2 if self.neighbors == "replace_one" else 1)

    def describe(self) -> str:
        """Return the change that is protected, in words."""
        change = "replacing" if self.neighbors == "replace_one" else "adding or removing"
        if self.unit == "record":
            return f"{change} one record"
        records = "record" if self.max_records_per_group == 1 else "records"
        return f"{change} one person (at most {self.max_records_per_group} {records} each)"

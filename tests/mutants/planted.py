"""The planted bugs: where each is, what it breaks, and which tests must fail for it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src", "dpforest")


@dataclass(frozen=True)
class Mutant:
    """One planted bug.

    Parameters
    ----------
    room : str
        The name of the file of mutants it comes from.
    file : str
        What is changed, below ``src/dpforest``.
    text, replacement : str
        The text occurs exactly once in the file.
    breaks : str
        What goes wrong, in a line; begins with "privacy: " where it breaks privacy.
    tests : tuple of str
        Files or node ids, at least one of which must fail.
    select : str
        A ``-k`` expression to narrow them.
    """

    room: str
    file: str
    text: str
    replacement: str
    breaks: str
    tests: tuple[str, ...]
    select: str = ""

    @property
    def path(self) -> Path:
        """Below the root of a copy of the repository."""
        return PACKAGE / self.file

    def __str__(self) -> str:
        return f"{self.file}: {self.breaks}"

    def applied_to(self, source: str) -> str:
        """The source with the bug; ValueError unless there is exactly one place for it."""
        found = source.count(self.text)
        if found != 1:
            raise ValueError(f"the text occurs {found} times in {self.file}, expected once")
        return source.replace(self.text, self.replacement)


def all_mutants(folder: Path = Path(__file__).parent) -> list[Mutant]:
    """Every mutant of every file, in order."""
    mutants = []
    for path in sorted(folder.glob("*.toml")):
        for written in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            tests = tuple(written.pop("tests"))
            mutants.append(Mutant(room=path.stem, tests=tests, **written))
    return mutants

"""Which tables are measured, how large they are, and how many splits each gets."""

from functools import cache

from dpforest import datasets
from dpforest.datasets import catalog

# (rows, classes; 0: a number) of tables that are not in the catalogue: a folder of data has them
IN_A_FOLDER = {
    "abalone": (4177, 0),
    "cpu_act": (8192, 0),
    "kin8nm": (8192, 0),
    "delta_elevators": (9517, 0),
    "pendigits": (10992, 10),
    "eeg_eye": (14980, 2),
    "bike_sharing": (17379, 0),
    "letter": (20000, 26),
    "california_housing": (20640, 0),
    "kc_house": (21613, 0),
}


@cache
def shapes() -> dict[str, tuple[int, int]]:
    """Return (rows, classes) of every table the page knows, smallest first."""
    packaged = {
        name: (entry["n_rows"], len(entry["target"].get("classes", ())))
        for name, entry in catalog.packaged().items()
    }
    return dict(sorted({**packaged, **IN_A_FOLDER}.items(), key=lambda item: item[1][0]))


def loadable() -> list[str]:
    """Return the tables that can be read here, smallest first."""
    known = set(datasets.names())
    return [name for name in shapes() if name in known]


def n_rows(name: str) -> int:
    return shapes()[name][0]


def n_classes(name: str) -> int:
    """Return the number of classes, 0 for a numeric target."""
    return shapes()[name][1]


def n_seeds(name: str) -> int:
    """Return how many splits a table gets: figures of large tables vary little and take long."""
    rows = n_rows(name)
    return 5 if rows < 40_000 else 3 if rows < 200_000 else 2

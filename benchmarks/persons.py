"""What it costs to protect persons of several records rather than single records.

``DPFOREST_DATA=folder python -m benchmarks.persons`` fits the flagship with its defaults at epsilon
1, everything paid for, to 80 % of a table, five seeds. Every person has one record, so only the
noise and what is planned by it change. The page of the flagship gets the table.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from dpforest import PrivateForestClassifier, PrivateForestRegressor, datasets

TABLES = ("nursery", "robot_navigation", "credit_default", "kc_house", "delta_elevators")
RECORDS = (1, 2, 5, 20)
SEEDS = range(5)
PAGE = Path(__file__).parents[1] / "docs" / "flagship.md"
PLACE = re.compile(r"(?<=<!-- persons -->\n).*(?=<!-- end of persons -->)", re.DOTALL)


def measure(name: str, n_records: int) -> tuple[float, float]:
    """The mean score (accuracy or R2) on test parts, and its standard error."""
    data = datasets.load(name)
    of_classes = data.schema.target.classes is not None
    kind = PrivateForestClassifier if of_classes else PrivateForestRegressor
    scores = []
    for seed in SEEDS:
        X, X_test, y, y_test = train_test_split(
            data.X,
            data.y,
            test_size=0.2,
            random_state=seed,
            stratify=data.y if of_classes else None,
        )
        model = kind(
            epsilon=1.0, schema=data.schema, max_records_per_group=n_records, random_state=seed
        )
        model.fit(X, y, groups=np.arange(len(y)))
        scores.append(model.score(X_test, y_test))
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / len(scores) ** 0.5)


def main() -> None:
    """Measure, print, and write the table into the page."""
    head = " | ".join(f"{m} record{'s' * (m > 1)}" for m in RECORDS)
    lines = [f"| | {head} |", "|---" * (len(RECORDS) + 1) + "|"]
    for name in TABLES:
        cells = ("{:.3f} ± {:.3f}".format(*measure(name, m)) for m in RECORDS)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    PAGE.write_text(PLACE.sub(lambda _: "\n".join([*lines, ""]), PAGE.read_text()))


if __name__ == "__main__":
    main()

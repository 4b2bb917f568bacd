"""How often a feature is told on random labels: python -m benchmarks.random_labels.

Six useless features, evenly spread, and labels at random, at epsilon 1: a fit counts when any
feature is told. Fits that are one rule are counted by themselves: nothing is told of these.
"""

from __future__ import annotations

import argparse

import numpy as np

from dpforest import NumericFeature, PrivateForestClassifier, Schema, Target

RECORDS = (200, 300, 500, 1000, 2000)
CLASSES = (2, 3)
N_FEATURES = 6


def measure(n_classes: int, n_records: int, fits: int) -> tuple[int, int]:
    """In how many fits some feature was told, and how many were one rule."""
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(N_FEATURES))
    schema = Schema(features, Target("y", classes=tuple(range(n_classes))))
    told = rules = 0
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X, y = rng.random((n_records, N_FEATURES)), rng.integers(0, n_classes, n_records)
        found = PrivateForestClassifier(schema=schema, random_state=seed).fit(X, y).importances()
        told += bool(found.distinguishable)
        rules += found.chosen_once
    return told, rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=12)
    fits = parser.parse_args().fits
    print("| records | " + " | ".join(f"{n:,}" for n in RECORDS) + " |")
    print("|---" * (len(RECORDS) + 1) + "|")
    for n_classes in CLASSES:
        cells = []
        for n_records in RECORDS:
            told, rules = measure(n_classes, n_records, fits)
            cells.append(f"{told} of {fits}" + (f" ({rules} are rules)" if rules else ""))
        print(f"| {n_classes} classes | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

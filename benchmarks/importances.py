"""Importances against permutation importance on held-out records: python -m benchmarks.importances.

The model's own importances, from released numbers alone, and what shuffling a column of held-out
records does to its log-loss or squared error, are compared by Spearman's rank correlation. On a
synthetic table like that of a marketing campaign, with a constant and a column of noise, it is
asked whether the first feature is the first, and what these two get.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Schema,
    Target,
    datasets,
)

TABLES = (
    "adult", "bike_sharing", "california_housing", "cpu_act", "credit_default",
    "diabetes_prediction", "kc_house", "mushroom", "nursery", "pendigits",
)  # fmt: skip
MOST_RECORDS = 20_000
TEST_RECORDS = 10_000
REPEATS = 3
BARS = {math.inf: 0.8, 1.0: 0.6}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
USELESS = ("constant", "noise")
CAMPAIGN = Schema(
    (
        NumericFeature("age", 16, 100, integer=True),
        NumericFeature("balance", -10_000, 100_000),
        CategoricalFeature("housing", ("no", "yes")),
        CategoricalFeature("month", MONTHS),
        NumericFeature("duration", 0, 5_000, integer=True),
        NumericFeature("campaign", 1, 60, integer=True),
        NumericFeature("days_since", -1, 1_000, integer=True),
        CategoricalFeature("before", ("unknown", "failure", "success")),
        NumericFeature("constant", 0, 1),
        NumericFeature("noise", 0, 1),
    ),
    Target("bought", classes=("no", "yes")),
)


def log_likelihood(model, X, y):
    """Of the true classes, a record; scikit-learn's own wants classes in sorted order."""
    at = np.argmax(np.asarray(y)[:, None] == model.classes_, axis=1)
    return float(np.log(np.maximum(model.predict_proba(X)[np.arange(len(at)), at], 1e-6)).mean())


def shuffled(model, X, y, seed: int) -> np.ndarray:
    """What it costs to shuffle each column."""
    scoring = "r2" if isinstance(model, PrivateForestRegressor) else log_likelihood
    return permutation_importance(
        model, X, y, scoring=scoring, n_repeats=REPEATS, random_state=seed
    ).importances_mean


def measure(name: str, epsilon: float, seed: int) -> float:
    """The rank correlation on one table."""
    data = datasets.load(name)
    classes = data.schema.target.classes
    kept = np.random.default_rng(seed).permutation(len(data.y))[: MOST_RECORDS + TEST_RECORDS]
    train, test = train_test_split(
        kept, test_size=min(TEST_RECORDS, len(kept) // 4), random_state=seed
    )
    kind = PrivateForestClassifier if classes else PrivateForestRegressor
    y = np.asarray(data.y)
    model = kind(epsilon=epsilon, schema=data.schema, random_state=seed)
    model.fit(data.X.iloc[train], y[train])
    found = model.feature_importances_
    if not found.any():
        return 0.0
    return float(spearmanr(found, shuffled(model, data.X.iloc[test], y[test], seed)).statistic)


def campaign(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """People who were called: long calls sell, and so do a sale before and some months."""
    rng = np.random.default_rng(seed)
    called_before = rng.random(n) < 0.18
    before = np.where(rng.random(n) < 0.25, "success", "failure")
    X = pd.DataFrame(
        {
            "age": np.clip(rng.normal(41, 11, n), 16, 100).round(),
            "balance": rng.lognormal(6.5, 1.3, n).round(),
            "housing": rng.choice(["no", "yes"], n, p=[0.45, 0.55]),
            "month": rng.choice(
                MONTHS, n, p=np.array([3, 6, 1, 6, 31, 12, 15, 14, 1, 2, 8, 1]) / 100
            ),
            "duration": rng.lognormal(5.2, 0.9, n).round(),
            "campaign": rng.geometric(0.4, n),
            "days_since": np.where(called_before, rng.integers(30, 400, n), -1),
            "before": np.where(called_before, before, "unknown"),
            "constant": 0.5,
            "noise": rng.random(n),
        }
    )
    score = 1.5 * (np.log(X["duration"] + 1) - 5.2) - 2.6 + 0.5 * (X["housing"] == "no")
    score += 2.0 * (X["before"] == "success") + 1.5 * X["month"].isin(["mar", "sep", "oct", "dec"])
    score -= 0.1 * X["campaign"]
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")


def measure_campaign(epsilon: float, fits: int) -> tuple[int, float]:
    """In how many fits the first feature is that of permutation; the most that useless ones get."""
    right, most = 0, 0.0
    for seed in range(fits):
        X, y = campaign(MOST_RECORDS + TEST_RECORDS, seed)
        model = PrivateForestClassifier(epsilon=epsilon, schema=CAMPAIGN, random_state=seed)
        model.fit(X[:MOST_RECORDS], y[:MOST_RECORDS])
        found = model.feature_importances_
        test = slice(MOST_RECORDS, None)
        right += int(found.argmax() == shuffled(model, X[test], y[test], seed).argmax())
        names = CAMPAIGN.feature_names
        most = max(most, *(found[names.index(name)] for name in USELESS))
    return right, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--fits", type=int, default=15, help="of the campaign")
    arguments = parser.parse_args()
    for epsilon in BARS if arguments.fits else ():
        right, most = measure_campaign(epsilon, arguments.fits)
        print(
            f"campaign, epsilon = {epsilon:g}: the first is the first in {right} of "
            f"{arguments.fits} fits; a constant and noise get at most {most:.4f}",
            flush=True,
        )
    print("| table | " + " | ".join(f"epsilon = {epsilon:g}" for epsilon in BARS) + " |")
    print("|---" * (len(BARS) + 1) + "|")
    rows = []
    for name in arguments.tables:
        seeds = range(arguments.seeds)
        row = [np.mean([measure(name, epsilon, seed) for seed in seeds]) for epsilon in BARS]
        rows.append(row)
        print(f"| {name} | " + " | ".join(f"{found:.2f}" for found in row) + " |", flush=True)
    print("| mean | " + " | ".join(f"{found:.2f}" for found in np.mean(rows, axis=0)) + " |")


if __name__ == "__main__":
    main()

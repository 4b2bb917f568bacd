"""What is fitted: every family with its options, the literature, containers, inferred schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dpforest
from benchmarks.same_models import options
from benchmarks.same_models.tables import CONTAINERS, Table, rows_of, table
from dpforest import Schema, literature

SEED = 1
DELTA = 1e-6
PROTECTIONS = {
    f"{neighbors}/{'persons' if persons else 'records'}": {
        "neighbors": neighbors,
        **({"max_records_per_group": 2} if persons else {}),
    }
    for neighbors in ("add_remove", "replace_one")
    for persons in (False, True)
}
PURE, BOTH = ({"delta": 0.0},), ({"delta": 0.0}, {"delta": DELTA})
NO_DELTA: tuple[dict[str, float], ...] = ({},)
FAMILIES = {
    "RandomDecisionForestClassifier": ("classes", NO_DELTA, options.RANDOM),
    "MedianForestClassifier": ("classes", NO_DELTA, options.MEDIAN_CLASSES),
    "MedianForestRegressor": ("amounts", NO_DELTA, options.MEDIAN),
    "GreedyForestClassifier": ("classes", NO_DELTA, options.GREEDY),
    "MatrixForestClassifier": ("classes", BOTH, options.MATRIX),
    "MatrixForestPredictor": ("classes", BOTH, options.PREDICTOR),
    "PrivateForestClassifier": ("classes", BOTH, options.BOOSTED),
    "PrivateForestRegressor": ("amounts", BOTH, options.BOOSTED),
}
SCHEMAS: dict[str, Callable[[str], Any]] = {
    "declared": lambda name: table(name).schema,
    "written": lambda name: table(name).schema.to_dict(),
    "read": lambda _: None,
    "paid": lambda name: infer(name, "pandas"),
}
LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")
MIXED_CONTAINERS = tuple(container for container in CONTAINERS if container != "floats")
PURE_ONLY = {
    "MatrixForestClassifier": options.MATRIX_DISJOINT,
    "MatrixForestPredictor": options.PREDICTOR_BATCHES,
}


@dataclass(frozen=True)
class Case:
    """An unfitted estimator and the table it meets; ``fit`` gives it back fitted."""

    name: str
    make: Callable[[], Any]
    table: str
    container: str = "pandas"
    persons: bool = False
    n_fits: int = 1
    n_batches: int = 1
    then: Callable[[Any], Any] = lambda model: model

    def fit(self) -> Any:
        records = self.records()
        groups = {"groups": records.persons} if self.persons else {}
        model, X = self.make(), CONTAINERS[self.container](records.train)
        for _ in range(self.n_fits):
            model.fit(X, records.y, **groups)
        return self.then(model)

    def batches(self) -> Iterator[Any]:
        """The held-out rows, in as many questions as the case asks."""
        test = self.records().test
        n = len(next(iter(test.values()))) // self.n_batches
        for start in range(0, n * self.n_batches, n):
            yield CONTAINERS[self.container](rows_of(test, start, start + n))

    def records(self) -> Table:
        return table(self.table)


def estimator(name: str, **parameters: Any) -> Any:
    return getattr(dpforest, name)(random_state=SEED, **parameters)


def all_cases() -> Iterator[Case]:
    for family in FAMILIES:
        yield from of_family(family)
        yield from of_containers(family)
        yield from of_threads(family)
    yield revoted()
    yield from of_literature()


def of_family(family: str) -> Iterator[Case]:
    """All options, for neighbours and units that take turns."""
    task, deltas, changes = FAMILIES[family]
    tables = (task,) if task == "amounts" else ("binary", task)
    pairs = [(delta, change) for delta in deltas for change in changes]
    pairs += [(delta, change) for delta in PURE for change in PURE_ONLY.get(family, ())]
    for name in tables:
        for position, (delta, change) in enumerate(pairs):
            everyone = position == 0 or len(tables) == 1
            for protection in PROTECTIONS if everyone else opposite(position, name):
                yield _case(family, name, {**delta, **change}, protection)


def opposite(position: int, name: str) -> tuple[str, str]:
    """Two protections that differ in both respects; the other two for the other table."""
    every = list(PROTECTIONS)
    turn = (position + (name == "binary")) % 2
    return every[turn], every[3 - turn]


def _case(family: str, name: str, parameters: dict[str, Any], protection: str) -> Case:
    written = ",".join(f"{key}={value}" for key, value in parameters.items()) or "defaults"
    return Case(
        name=f"{family}/{name}/{protection}/{written}",
        make=lambda: estimator(
            family, **{"schema": table(name).schema, **PROTECTIONS[protection], **parameters}
        ),
        table=name,
        persons=protection.endswith("persons"),
        n_fits=2 if parameters.get("warm_start") else 1,
        n_batches=3 if "epsilon_per_batch" in parameters else 1,
    )


def of_containers(family: str) -> Iterator[Case]:
    """Missing values and unseen categories; schemas that are declared, read off or paid for."""
    task = FAMILIES[family][0]
    tried = [(f"{task}_gaps", container, "declared") for container in MIXED_CONTAINERS]
    tried += [(f"{task}_gaps", container, "read") for container in LIBRARIES]
    tried += [(f"{task}_gaps", "pandas", "written"), (f"{task}_gaps", "pandas", "paid")]
    tried += [(f"{task}_numbers", container, "declared") for container in ("floats", *LIBRARIES)]
    tried += [(f"{task}_numbers", "floats", "read")]
    shape = {"max_depth": 2} | ({"n_hint": 900} if "Predictor" in family else {})
    for name, container, kind in tried:
        yield Case(
            name=f"{family}/{name}/{container}/schema {kind}",
            make=lambda name=name, kind=kind: estimator(
                family, schema=SCHEMAS[kind](name), **shape
            ),
            table=name,
            container=container,
        )


def of_threads(family: str) -> Iterator[Case]:
    """So many records that threads share them."""
    name = f"{FAMILIES[family][0]}_many"
    for n_jobs in (1, 2):
        yield Case(
            name=f"{family}/{name}/n_jobs={n_jobs}",
            make=lambda n_jobs=n_jobs: estimator(
                family, schema=table(name).schema, n_jobs=n_jobs, n_estimators=6, max_depth=3
            ),
            table=name,
        )


def infer(name: str, container: str, **parameters: Any) -> Schema:
    X = CONTAINERS[container](table(name).train)
    asked = {"target": table(name).y, "epsilon": 4.0, "delta": 1e-4, "random_state": SEED}
    return Schema.infer(X, **(asked | parameters))


def revoted() -> Case:
    """A forest whose leaves vote by another rule after the fit."""
    return Case(
        name="RandomDecisionForestClassifier/binary/revote",
        make=lambda: estimator("RandomDecisionForestClassifier", schema=table("binary").schema),
        table="binary",
        then=lambda model: model.revote("majority", pruning="snr"),
    )


def of_literature() -> Iterator[Case]:
    """Every system, repaired and as printed."""
    for system in literature.names():
        for variant in ("repaired", "as_published"):
            for name, protection in [
                *(("binary", protection) for protection in PROTECTIONS),
                ("classes", "add_remove/records"),
            ]:
                yield Case(
                    name=f"literature/{system}/{variant}/{name}/{protection}",
                    make=lambda system=system, variant=variant, name=name, protection=protection: (
                        literature.make(
                            system,
                            variant=variant,
                            schema=table(name).schema,
                            random_state=SEED,
                            **PROTECTIONS[protection],
                        )
                    ),
                    table=name,
                    persons=protection.endswith("persons"),
                )


def inferred_schemas() -> Iterator[tuple[str, Callable[[], Schema]]]:
    """Schemas that are paid for, by container and parameters."""
    changes: list[dict[str, Any]] = [
        {},
        {"neighbors": "replace_one"},
        {"delta": 0.0},
        {"epsilon": 0.1},
        {"target": None},
        {"universe": {"colour": ("red", "green", "blue")}},
    ]
    for task in ("classes", "amounts"):
        tried = [("gaps", container) for container in MIXED_CONTAINERS]
        for kind, container in [*tried, ("numbers", "floats"), ("numbers", "polars")]:
            for change in changes:
                written = ",".join(f"{key}={value}" for key, value in change.items()) or "defaults"
                yield (
                    f"Schema.infer/{task}_{kind}/{container}/{written}",
                    lambda name=f"{task}_{kind}", container=container, change=change: infer(
                        name, container, **change
                    ),
                )
    yield "Schema.infer/binary", lambda: infer("binary", "pandas")

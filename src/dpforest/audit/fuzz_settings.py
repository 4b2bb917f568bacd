"""Random settings to replay: an estimator with any of its options, and two neighbouring tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from dpforest.audit.chains import Chain
from dpforest.audit.fuzz_containers import containers, put_columns, put_tables
from dpforest.audit.fuzz_options import FLAGSHIP, draw_estimator
from dpforest.audit.fuzz_searches import SEARCH, draw_search
from dpforest.audit.fuzz_tables import Record, Rng, draw_records, draw_schema, pick
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.replaying import replay
from dpforest.audit.searches import OneSearch
from dpforest.audit.small import public_estimators
from dpforest.audit.worlds import Table
from dpforest.forests.base import PrivateEstimator
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Feature
from dpforest.search import PrivateSearchCV

CHAINS = 0.15  # of the settings pay for their schema, and as many fail first
WIDE = 0.15  # of the flagship's have so many features that questions are chosen
WEIGHTS = (0.0, 0.1, 1, 2.5, 1e9)  # of records; those above the bound count as the bound


@dataclass(frozen=True)
class Setting:
    """One thing to replay.

    Parameters
    ----------
    estimator : PrivateEstimator
    table, neighbour : Table
    common : int
        Records that both have, which come first.
    chain : Chain
        What is done with a table: a fit and batches of questions, more now and then.
    kind : str
        How the records lie, and what the tables are.
    seed : int
        Of the outputs.
    search : PrivateSearchCV, optional
        That the estimator is a candidate of: it is replayed in the place of the chain.
    """

    estimator: PrivateEstimator
    table: Table
    neighbour: Table
    common: int
    chain: Chain
    kind: str
    seed: int
    search: PrivateSearchCV | None = None

    @property
    def name(self) -> str:
        """Whose claim is held against what is found."""
        return type(self.search or self.estimator).__name__

    def replay(self) -> ReplayReport:
        """Replay it."""
        return replay(
            self.chain if self.search is None else OneSearch(self.search),
            self.table,
            self.neighbour,
            common=self.common,
            max_records_per_group=self.estimator.max_records_per_group,
            seed=self.seed,
        )

    def __str__(self) -> str:
        """All that is needed to see it again."""
        tables = f"table:\n{self.table}\nneighbour:\n{self.neighbour}"
        chain = f"inferred {self.chain.inferred}, fails after {self.chain.fails_after}"
        what = f"{self.search or self.estimator}\n{self.estimator.schema}"
        return f"{what}\n{chain}\n{self.kind}\n{tables}"


def draw_setting(seed: int, number: int) -> Setting:
    """A setting by its number: the same again whenever it is asked for."""
    rng = np.random.default_rng([seed, number])
    name = pick(rng, sorted([*public_estimators(), SEARCH]))
    persons = int(pick(rng, (1, 2, 3))) if rng.random() < 0.3 else None
    search = draw_search(rng, persons) if name == SEARCH else None
    estimator = _draw_estimator(rng, name, persons) if search is None else search.estimator
    schema = estimator.schema
    assert isinstance(schema, Schema)
    replaced = estimator.neighbors == "replace_one"
    records = draw_records(rng, schema, replaced=replaced, most_of_a_person=persons)
    kinds = [pick(rng, containers()) for _ in range(3)]
    questions = [[list(record[:-1]) for record in records.common[:k]] for k in (1, 3, 5)]
    chain = _draw_chain(rng, estimator, questions)
    both = [records.table("one"), records.table("other")]
    one, other = _tables(both, schema, kinds, strict=bool(chain.inferred))
    if getattr(estimator, "max_sample_weight", None) is not None:
        one, other = _with_weights(rng, [one, other], len(records.common), kinds[1])
    if rng.random() < 0.5:  # outputs are drawn with the odd record, or without it
        one, other = other, one
    where = f"{records.place}: {kinds[0]}, target {kinds[1]}"
    kind = where if persons is None else f"{where}, persons {kinds[2]}"
    seed = int(rng.integers(1 << 30))
    return Setting(estimator, one, other, len(records.common), chain, kind, seed, search)


def _draw_estimator(rng: Rng, name: str, persons: int | None) -> PrivateEstimator:
    regression = is_regressor(public_estimators()[name]())
    wide = name in FLAGSHIP and rng.random() < WIDE
    schema = draw_schema(rng, regression=regression, wide=wide)
    return draw_estimator(rng, name, schema, persons)


def _draw_chain(rng: Rng, estimator: PrivateEstimator, questions: list[Any]) -> Chain:
    """A fit, or two where one goes on; at times after one that failed, or with a paid schema."""
    inferred: dict[str, Any] = {}
    schema = estimator.schema
    assert isinstance(schema, Schema)
    if rng.random() < CHAINS:
        inferred = {"epsilon": pick(rng, (3.0, 30.0)), "delta": pick(rng, (1e-6, 1e-2))}
        if rng.random() < 0.5:
            inferred["types"] = {f.name: _type_of(f) for f in schema.features}
    return Chain(
        estimator,
        inferred,
        classes=() if schema.target is None else schema.target.classes or (),
        fails_after=int(rng.integers(1, 4)) if rng.random() < CHAINS else 0,
        fits=2 if getattr(estimator, "warm_start", False) else 1,
        questions=questions,
    )


def _type_of(feature: Feature) -> str:
    if isinstance(feature, CategoricalFeature):
        return "category"
    return "integer" if feature.integer else "number"


def _with_weights(rng: Rng, tables: list[Table], common: int, kind: str) -> list[Table]:
    """The same tables with a weight for each record: common records weigh the same in both."""
    shared = [pick(rng, WEIGHTS) for _ in range(common)]
    odd = [[pick(rng, WEIGHTS) for _ in range(len(table.y) - common)] for table in tables]
    weights = put_columns([[*shared, *own] for own in odd], kind)
    return [replace(table, sample_weight=own) for table, own in zip(tables, weights, strict=True)]


def _tables(
    both: list[tuple[list[Record], list[Any] | None]],
    schema: Schema,
    kinds: list[str],
    *,
    strict: bool,
) -> list[Table]:
    """Two tables of plain values as tables of the same kinds."""
    names = schema.feature_names
    columns = [
        {name: [record[j] for record in records] for j, name in enumerate(names)}
        for records, _ in both
    ]
    X = put_tables(columns, kinds[0], strict=strict)
    targets = [[record[-1] for record in records] for records, _ in both]
    y = put_columns(targets, kinds[1], strict=strict)
    persons = [ids for _, ids in both if ids is not None]
    groups = put_columns(persons, kinds[2]) if persons else [None, None]
    return list(map(Table, X, y, groups))

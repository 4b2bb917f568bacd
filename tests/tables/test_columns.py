"""Columns: what a container cannot give is refused, unseen and before anything is spent."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest import (
    CategoricalFeature,
    NumericFeature,
    RandomDecisionForestClassifier,
    Schema,
    SchemaError,
    Target,
    evaluate,
)
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.tables.columns import as_column
from tests.tables.not_texts import BYTES, CONTAINERS, SECRET, frame_of

WORDS = ["a", "b"] * 10
N = len(WORDS) + 1
SCHEMA = Schema(
    (CategoricalFeature("word", ("a", "b")), NumericFeature("x", 0, N)),
    Target("y", classes=("a", "b")),
)
READINGS = {
    "to_numpy": lambda column: column.to_numpy(),
    "numbers": lambda column: column.numbers(),
    "factors": lambda column: column.factors(),
    "levels": lambda column: column.levels(),
    "python_values": lambda column: column.python_values(),
    "require_readable": lambda column: column.require_readable(),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_what_is_no_text_is_refused_and_not_shown(kind, reading, capfd):
    column = as_column(CONTAINERS[kind](WORDS), "word")
    with pytest.raises(SchemaError, match=r"column word: a value cannot be read.*UTF-8") as caught:
        READINGS[reading](column)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
    assert capfd.readouterr().err == ""  # as a panic of polars would not leave it


def refused(what, *arguments, **options):
    with pytest.raises(SchemaError, match="a value cannot be read") as caught:
        what(*arguments, **options)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_fit_refuses_what_is_no_text_wherever_it_stands(kind):
    odd = CONTAINERS[kind](WORDS)

    def same_kind(values):
        return pa.chunked_array([values]) if isinstance(odd, pa.ChunkedArray) else type(odd)(values)

    good, numbers = same_kind(["a"] * N), same_kind(np.arange(N))
    table, fine = ({"word": words, "x": numbers} for words in (odd, good))
    cases = {
        "feature": (table, good, {}),
        "target": (fine, odd, {}),
        "groups": (fine, good, {"groups": odd}),
        "a text for a number": ({"word": good, "x": odd}, good, {}),
    }
    for columns, y, options in cases.values():
        most = 1 if options else None
        forest = RandomDecisionForestClassifier(schema=SCHEMA, max_records_per_group=most)
        refused(forest.fit, frame_of(columns), y, **options)
        assert not hasattr(forest, "ledger_")
    forest = RandomDecisionForestClassifier(schema=SCHEMA, n_estimators=2)
    forest.fit(frame_of(fine), good)
    refused(forest.predict, frame_of(table))
    refused(evaluate, forest, frame_of(table), good, epsilon=1.0)


@pytest.fixture
def unpayable(monkeypatch):
    monkeypatch.setattr(Ledger, "debit", lambda self, entry: pytest.fail("spent"))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_paid_schema_refuses_what_is_no_text_before_it_pays(kind, unpayable):
    odd = CONTAINERS[kind](WORDS)
    asked = {"epsilon": 1.0, "delta": 1e-3}
    refused(Schema.infer, frame_of({"word": odd, "other": odd}), **asked)
    refused(Schema.infer, np.zeros((N, 1)), target=odd, **asked)
    persons = {"groups": odd, "max_records_per_group": 1}
    refused(Schema.infer, np.zeros((N, 1)), types={"x0": "number"}, **persons, **asked)


FAR = 2**62
TIMES = {
    "seconds": pa.timestamp("s"),
    "microseconds": pa.timestamp("us"),
    "in a zone": pa.timestamp("us", "Europe/Berlin"),
    "durations": pa.duration("s"),
    "days": pa.date32(),
    "days in milliseconds": pa.date64(),
}


@pytest.mark.parametrize("backend", ["pyarrow", "pandas", "pandas, Arrow", "polars"])
@pytest.mark.parametrize("kind", TIMES)
def test_times_that_python_does_not_have_are_refused_as_times(kind, backend, unpayable, capfd):
    far = {"days": 2**31 - 5, "days in milliseconds": 86_400_000 * 10**9}.get(kind, FAR)
    array = pa.array([None, 0, far], TIMES[kind])
    if backend == "pandas" and kind.startswith("days"):
        pytest.skip("pandas has no such days")
    series = {
        "pyarrow": lambda: pa.chunked_array([array]),
        "pandas": lambda: pa.table({"born": array}).to_pandas()["born"],
        "pandas, Arrow": lambda: pd.Series(pd.arrays.ArrowExtensionArray(array)),
        "polars": lambda: pl.from_arrow(array),
    }[backend]()
    capfd.readouterr()
    frame = frame_of({"born": series})
    schema = Schema((NumericFeature("born", 0, 1),), Target(classes=(0, 1)))
    forest = RandomDecisionForestClassifier(schema=schema)
    for read in (
        lambda: Schema.infer(frame, epsilon=1.0, delta=1e-3),
        lambda: forest.fit(frame, [0, 1, 0]),
    ):
        with pytest.raises(SchemaError, match=r"'born': (dates and times|a value cannot be)") as e:
            read()
        assert not any(part in str(e.value) for part in ("1000000000", "148108", str(far)))
    assert capfd.readouterr().err == ""


def test_nothing_but_missing_times_is_a_gap():
    for gaps in (pd.Series([pd.NaT] * 3), pl.Series([None] * 3, dtype=pl.Datetime)):
        assert np.isnan(as_column(gaps, "born").numbers().astype(float)).all()
    assert not pd.isna(BYTES)

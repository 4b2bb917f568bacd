"""Tables as data: the published values, the grid, thinning, and broken files."""

import math

import pytest

from dpforest.reproduce import definitions
from dpforest.reproduce.definitions import find_paper, papers, parse_paper

SMALL = """
name = "small"
document = "999"
title = "A small paper"
[[table]]
number = 2
title = "Table 2"
note = "a note"
metric = "accuracy"
test_share = 0.2
seeds = 3
tolerance = 0.5
grid = { max_depth = [1, 2, 3, 4, 5, 6] }
[[table.fit]]
name = "forest"
estimator = "dpforest:RandomDecisionForestClassifier"
parameters = { epsilon = 1.0 }
columns.MV = { voting = "majority" }
[[table.row]]
label = "iris"
published.MV = { value = 90, max_depth = 3 }
"""


def test_bojarski_table_1_holds_the_published_values():
    table = papers()["bojarski"].tables[0]
    rows = {row.label: row for row in table.rows}
    assert len(rows) == 8
    assert rows["banknote"].published["n-dpRFMV"].value == 3.09
    assert rows["mushroom"].published["dpRFTA"].value == 4.16
    assert rows["adult"].published["dpRFTA"].settings == {"n_estimators": 7, "max_depth": 11}
    assert set(table.columns) - set(rows["adult"].published) == {"dpRFMV-label"}
    assert all(len(row.published) == 4 for row in table.rows)
    assert table.published(rows["adult"], "dpRFMV-label") == rows["adult"].published["dpRFMV"]
    # A sum over everything printed, so that no figure can change unnoticed.
    values = [entry.value for row in table.rows for entry in row.published.values()]
    assert math.isclose(sum(values), 590.86, abs_tol=1e-9)


def test_bojarski_grid_is_the_papers():
    table = papers()["bojarski"].tables[0]
    for row in table.rows:
        full = (tuple(range(1, 22, 2)), tuple(range(1, 16)))
        tried = (row.grid["n_estimators"], row.grid["max_depth"])
        assert all(set(a) <= set(b) for a, b in zip(tried, full, strict=True))
        assert row.slow or tried == full
    assert (table.seeds, table.test_share, table.tolerance) == (10, 0.1, 1.0)


def test_figure_4_of_mrf_is_16_trees_of_height_3():
    figures = {table.number: table for table in papers()["mrf"].tables}
    shape = {"n_estimators": (16,), "max_depth": (3,), "n_ensembles": (1,)}
    assert [row.grid for row in figures[4].rows] == [
        {"epsilon": (epsilon,), **shape} for epsilon in (0.4, 0.6, 0.8, 1, 2)
    ]
    assert all(set(row.published) == set(figures[4].columns) for row in figures[4].rows)


def test_a_paper_is_found_by_name_or_document():
    assert find_paper("004") == find_paper("Bojarski")
    with pytest.raises(ValueError, match=r"no tables of paper 'nobody'.*bojarski \(004\)"):
        find_paper("nobody")


def test_small_file():
    paper = parse_paper(SMALL)
    (table,) = paper.tables
    (row,) = table.rows
    assert (paper.document, table.number, row.dataset) == ("999", 2, "iris")
    assert list(row.settings()) == [{"max_depth": h} for h in range(1, 7)]
    assert row.published["MV"].settings == {"max_depth": 3}


def test_a_published_column_that_no_fit_gives_is_refused():
    with pytest.raises(ValueError, match="'iris' reports 'TA'"):
        parse_paper(SMALL + "published.TA = { value = 1 }")


def test_quick_thins_the_grid_and_leaves_slow_rows_out():
    table = parse_paper(SMALL + "slow = true").tables[0].quick()
    assert table.seeds == definitions.QUICK_SEEDS
    assert table.rows[0].grid == {"max_depth": (2, 4, 6)}
    assert table.rows[0].unavailable == "left out of a quick run"
    assert parse_paper(SMALL).tables[0].quick().rows[0].unavailable == ""

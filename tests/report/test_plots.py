"""Plots say what they show; matplotlib is asked for only when something is drawn."""

import sys

import matplotlib
import numpy as np
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor, Schema, datasets
from dpforest.report import feature_effect

matplotlib.use("Agg")
from matplotlib import pyplot

CENSUS = datasets.make_census(400, random_state=0)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def forest():
    model = PrivateForestClassifier(schema=CENSUS.schema, n_estimators=20, random_state=0)
    return model.fit(CENSUS.X, CENSUS.y)


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_importances_are_bars_in_order(forest):
    ax = forest.plot_importance()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(forest.feature_importances_)
    named = dict(zip(tick_labels(ax.yaxis), widths, strict=True))
    names = CENSUS.schema.feature_names
    assert named == dict(zip(names, forest.feature_importances_, strict=True))
    assert ax.collections  # the intervals


@pytest.mark.filterwarnings("ignore::dpforest.LittleSignalWarning")
def test_a_rule_is_drawn_without_intervals():
    model = PrivateForestClassifier(epsilon=0.1, schema=CENSUS.schema, random_state=0)
    ax = model.fit(CENSUS.X, CENSUS.y).plot_importance()
    assert "whether by chance cannot be told" in ax.get_xlabel()
    assert not ax.collections
    assert "importance" in ax.get_xlabel()


def test_a_numeric_effect_is_steps_over_bins(forest):
    ax = forest.plot_effect("age")
    (steps,) = ax.patches
    expected = feature_effect(forest, "age")
    np.testing.assert_array_equal(steps.get_data().values, expected.answers[:, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "probability of income >50K")
    ticks = tick_labels(ax.xaxis)
    assert (ticks[0], ticks[-1]) == ("17", "90")
    assert ax.get_legend() is None


def test_a_categorical_effect_is_points(forest):
    ax = forest.plot_effect("sector")
    (points,) = ax.lines
    expected = feature_effect(forest, "sector").answers[:, 1]
    np.testing.assert_array_equal(points.get_ydata(), expected)
    assert tick_labels(ax.xaxis) == ["private", "public", "self-employed", "not working"]


def with_target(**target):
    return Schema.from_dict(CENSUS.schema.to_dict() | {"target": {"name": "wealth", **target}})


def test_more_classes_have_a_line_each():
    y = np.arange(400) % 3
    model = PrivateForestClassifier(
        schema=with_target(classes=[0, 1, 2]), n_estimators=5, random_state=0
    )
    ax = model.fit(CENSUS.X, y).plot_effect("region")
    assert len(ax.lines) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    assert ax.get_ylabel() == "probability of wealth"


def test_numbers_are_shown_as_they_are():
    model = PrivateForestRegressor(
        schema=with_target(low=0, high=9), n_estimators=5, random_state=0
    )
    ax = model.fit(CENSUS.X, np.arange(400) % 10).plot_effect("children")
    assert ax.get_ylabel() == "mean wealth"
    assert len(ax.patches) == 1


def test_axes_that_are_given_are_used(forest):
    _, axes = pyplot.subplots(1, 2)
    open_before = pyplot.get_fignums()
    assert forest.plot_importance(axes[0]) is axes[0]
    assert forest.plot_effect("age", ax=axes[1]) is axes[1]
    assert pyplot.get_fignums() == open_before


def test_without_matplotlib_the_error_says_what_to_install(forest, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'dpforest\[plot\]'"):
        forest.plot_importance()
    assert len(feature_effect(forest, "region").answers) == 8

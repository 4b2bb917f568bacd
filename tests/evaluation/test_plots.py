"""Plots of an evaluation draw its curves and their bands."""

import math

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from dpforest import evaluate

mpl.use("Agg")

X = np.random.default_rng(0).standard_normal((500, 2))
Y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 1)


@pytest.mark.parametrize("which", ["plot_roc", "plot_calibration"])
def test_curves_are_drawn(which):
    found = evaluate(LogisticRegression().fit(X, Y), X, Y, epsilon=math.inf)
    axes = getattr(found, which)()
    drawn = [tuple(line.get_ydata()) for line in axes.lines]
    curves = list(found.roc.values()) if which == "plot_roc" else [found.calibration.curve]
    assert len(axes.collections) == len(curves)
    for curve in curves:
        assert tuple(curve.y) in drawn
    assert getattr(found, which)(ax=axes) is axes
    mpl.pyplot.close("all")


def test_without_scores_there_is_nothing_to_draw():
    found = evaluate(LinearSVC().fit(X, Y), X, Y, epsilon=1.0)
    for draw in (found.plot_roc, found.plot_calibration):
        with pytest.raises(ValueError, match="no predict_proba"):
            draw()

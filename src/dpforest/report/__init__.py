"""Explanations of released models and pages about them: post-processing, so they cost nothing."""

from dpforest.report.contributions import Contributions, contributions
from dpforest.report.effects import FeatureEffect, PairEffect, feature_effect, pair_effect
from dpforest.report.filed import Report
from dpforest.report.importances import Importances
from dpforest.report.plots import plot_contributions, plot_effect, plot_importance, plot_pair

__all__ = [
    "Contributions",
    "FeatureEffect",
    "Importances",
    "PairEffect",
    "Report",
    "contributions",
    "feature_effect",
    "pair_effect",
    "plot_contributions",
    "plot_effect",
    "plot_importance",
    "plot_pair",
]

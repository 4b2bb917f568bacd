"""Explanations of released models: post-processing, so they cost nothing."""

from dpforest.report.effects import FeatureEffect, feature_effect
from dpforest.report.importances import Importances
from dpforest.report.plots import plot_effect, plot_importance

__all__ = ["FeatureEffect", "Importances", "feature_effect", "plot_effect", "plot_importance"]

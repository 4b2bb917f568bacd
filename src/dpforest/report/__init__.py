"""Pictures and pages about released models: post-processing, so they cost nothing."""

from dpforest.report.effects import FeatureEffect, feature_effect
from dpforest.report.filed import Report
from dpforest.report.plots import plot_effect, plot_importance

__all__ = ["FeatureEffect", "Report", "feature_effect", "plot_effect", "plot_importance"]

"""Differentially private forests for tabular data, scikit-learn style."""

from dpforest import audit, datasets
from dpforest.exceptions import (
    BudgetExceededError,
    ModelFileError,
    NoGuaranteeWarning,
    PrivacyLeakWarning,
    SchemaError,
)
from dpforest.forests.base import load_model
from dpforest.forests.boosted import PrivateForestClassifier, PrivateForestRegressor
from dpforest.forests.random import RandomDecisionForestClassifier
from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target

__version__ = "0.1.0"

__all__ = [
    "BudgetExceededError",
    "CategoricalFeature",
    "ModelFileError",
    "NoGuaranteeWarning",
    "NumericFeature",
    "PrivacyLeakWarning",
    "PrivateForestClassifier",
    "PrivateForestRegressor",
    "RandomDecisionForestClassifier",
    "Schema",
    "SchemaError",
    "Target",
    "audit",
    "datasets",
    "load_model",
]

"""Differentially private forests for tabular data, scikit-learn style.

Names are loaded when they are first used: scikit-learn and numba take a second to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpforest import audit, datasets, literature, report, reproduce
    from dpforest.evaluation import Evaluation, evaluate, plan, tune_threshold
    from dpforest.exceptions import (
        BudgetExceededError,
        BudgetFileError,
        InnerFitsWarning,
        LittleSignalWarning,
        ModelFileError,
        NoGuaranteeWarning,
        PrivacyLeakWarning,
        SchemaError,
        SourceChangedError,
        WeakGuaranteeWarning,
    )
    from dpforest.forests.boosted import PrivateForestClassifier, PrivateForestRegressor
    from dpforest.forests.boosted_intervals import PrivateIntervalRegressor
    from dpforest.forests.greedy import GreedyForestClassifier
    from dpforest.forests.matrix import MatrixForestClassifier
    from dpforest.forests.matrix_predictor import MatrixForestPredictor
    from dpforest.forests.median import MedianForestClassifier, MedianForestRegressor
    from dpforest.forests.random import RandomDecisionForestClassifier
    from dpforest.forests.saving import load_model
    from dpforest.privacy.accounts.budget import Budget
    from dpforest.privacy.accounts.ledger import Ledger
    from dpforest.privacy.accounts.protection import Protection
    from dpforest.schema import CategoricalFeature, NumericFeature, Schema, Target
    from dpforest.search import PrivateSearchCV
    from dpforest.tables.arrow_source import ParquetTable

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BudgetExceededError",
    "BudgetFileError",
    "CategoricalFeature",
    "Evaluation",
    "GreedyForestClassifier",
    "InnerFitsWarning",
    "Ledger",
    "LittleSignalWarning",
    "MatrixForestClassifier",
    "MatrixForestPredictor",
    "MedianForestClassifier",
    "MedianForestRegressor",
    "ModelFileError",
    "NoGuaranteeWarning",
    "NumericFeature",
    "ParquetTable",
    "PrivacyLeakWarning",
    "PrivateForestClassifier",
    "PrivateForestRegressor",
    "PrivateIntervalRegressor",
    "PrivateSearchCV",
    "Protection",
    "RandomDecisionForestClassifier",
    "Schema",
    "SchemaError",
    "SourceChangedError",
    "Target",
    "WeakGuaranteeWarning",
    "audit",
    "datasets",
    "evaluate",
    "literature",
    "load_model",
    "plan",
    "report",
    "reproduce",
    "tune_threshold",
]

_ROOMS = {
    "evaluation": ("Evaluation", "evaluate", "plan", "tune_threshold"),
    "exceptions": (
        "BudgetExceededError",
        "BudgetFileError",
        "InnerFitsWarning",
        "LittleSignalWarning",
        "ModelFileError",
        "NoGuaranteeWarning",
        "PrivacyLeakWarning",
        "SchemaError",
        "SourceChangedError",
        "WeakGuaranteeWarning",
    ),
    "forests.saving": ("load_model",),
    "forests.boosted": ("PrivateForestClassifier", "PrivateForestRegressor"),
    "forests.boosted_intervals": ("PrivateIntervalRegressor",),
    "forests.greedy": ("GreedyForestClassifier",),
    "forests.matrix": ("MatrixForestClassifier",),
    "forests.matrix_predictor": ("MatrixForestPredictor",),
    "forests.median": ("MedianForestClassifier", "MedianForestRegressor"),
    "forests.random": ("RandomDecisionForestClassifier",),
    "privacy.accounts.budget": ("Budget",),
    "privacy.accounts.ledger": ("Ledger",),
    "privacy.accounts.protection": ("Protection",),
    "schema": ("CategoricalFeature", "NumericFeature", "Schema", "Target"),
    "tables.arrow_source": ("ParquetTable",),
    "search": ("PrivateSearchCV",),
}
_HOME = {name: f"dpforest.{room}" for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    elif name in __all__:
        found = import_module(f"dpforest.{name}")
    else:
        raise AttributeError(f"module 'dpforest' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

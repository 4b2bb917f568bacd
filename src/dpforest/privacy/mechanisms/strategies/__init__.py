"""The matrix mechanism: answer many counting queries together, with less noise than one by one.

Workloads say what is asked, strategies what is measured, `expected_error` how far off the answers
will be, and `choose_strategy` finds the best. See ``docs/privacy/matrix.md``.
"""

from dpforest.privacy.mechanisms.strategies.choose import (
    STRATEGIES,
    Choice,
    StrategyName,
    choose_strategy,
)
from dpforest.privacy.mechanisms.strategies.error import (
    ONE_COUNT,
    Change,
    answer_deviations,
    expected_error,
    noise_for,
)
from dpforest.privacy.mechanisms.strategies.marginal_strategies import (
    WeightedMarginals,
    WeightedResiduals,
)
from dpforest.privacy.mechanisms.strategies.strategies import (
    Direct,
    Finer,
    Identity,
    Kronecker,
    PIdentity,
    Strategy,
)
from dpforest.privacy.mechanisms.strategies.tree_workloads import Paths, Votes
from dpforest.privacy.mechanisms.strategies.workloads import (
    KroneckerUnion,
    Rows,
    Workload,
    marginals,
)

__all__ = [
    "ONE_COUNT",
    "STRATEGIES",
    "Change",
    "Choice",
    "Direct",
    "Finer",
    "Identity",
    "Kronecker",
    "KroneckerUnion",
    "PIdentity",
    "Paths",
    "Rows",
    "Strategy",
    "StrategyName",
    "Votes",
    "WeightedMarginals",
    "WeightedResiduals",
    "Workload",
    "answer_deviations",
    "choose_strategy",
    "expected_error",
    "marginals",
    "noise_for",
]

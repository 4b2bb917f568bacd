"""The matrix mechanism: answer many counting queries together, with less noise than one by one.

Workloads (`dpforest.trees.workloads`) say what is asked, strategies what is measured,
`expected_error` how far off the answers will be, and `choose_strategy` finds the best; see
``docs/privacy/matrix.md``.
"""

from dpforest.privacy.mechanisms.strategies.choose import (
    STRATEGIES,
    StrategyChoice,
    StrategyName,
    choose_strategy,
)
from dpforest.privacy.mechanisms.strategies.error import (
    ONE_COUNT,
    TWO_HALVES,
    Change,
    answer_deviations,
    expected_error,
    measured,
    noise_for,
)
from dpforest.privacy.mechanisms.strategies.marginal_strategies import (
    WeightedMarginals,
    WeightedResiduals,
)
from dpforest.privacy.mechanisms.strategies.matrices import (
    Direct,
    Finer,
    Identity,
    Kronecker,
    PIdentity,
    Strategy,
)

__all__ = [
    "ONE_COUNT",
    "STRATEGIES",
    "TWO_HALVES",
    "Change",
    "Direct",
    "Finer",
    "Identity",
    "Kronecker",
    "PIdentity",
    "Strategy",
    "StrategyChoice",
    "StrategyName",
    "WeightedMarginals",
    "WeightedResiduals",
    "answer_deviations",
    "choose_strategy",
    "expected_error",
    "measured",
    "noise_for",
]

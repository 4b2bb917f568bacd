"""Warnings that follow from public facts and a noisy number of records, before more is spent.

A *signal* is the number of records times the budget: records times mu under Gaussian noise, records
times epsilon otherwise, over the steps between neighbours. How much of it a forest needs depends on
how plainly the data speaks, which nobody knows beforehand. The least signals here are those at
which forests of 18 data sets began to beat the majority class (or the mean) by a hundredth as often
as not; `docs/small-data.md` has the figures, ``python -m benchmarks.little_signal`` renews them.
The noise in a noisy number of records is a fixed signal too, whatever epsilon is: one deviation of
it is added to the least, so that few records are not often taken for many.
"""

from __future__ import annotations

import inspect
import math
import warnings
from typing import NamedTuple

from dpforest.exceptions import LittleSignalWarning, WeakGuaranteeWarning

LARGE_EPSILON = 10.0
LEAST_SIGNAL = 20.0  # of class counts in leaves


def warn_of_large_epsilon(epsilon: float) -> None:
    """Warn where epsilon promises next to nothing."""
    if LARGE_EPSILON < epsilon < math.inf:
        warnings.warn(
            f"epsilon = {epsilon:g} promises next to nothing: what is seen may be "
            f"exp({epsilon:g}) times as probable with a person as without. Take 1 or less where "
            "you can, and 10 at most; math.inf says that no privacy is wanted",
            WeakGuaranteeWarning,
            stacklevel=level_of_caller(),
        )


class Worth(NamedTuple):
    """What a budget is worth to a record, the least signal of a family, and that of a count."""

    delta: float
    strength: float
    least: float = LEAST_SIGNAL
    count_noise: float = math.sqrt(2.0) / 0.02


def warn_of_few_records(
    n_records: float, steps: int, worth: Worth, *, noisy: bool, weight: float | None = None
) -> None:
    """Warn by a public or noisy number of records, and the steps between neighbours.

    Of weighted records there is the noisy sum of their weights, too, in units of the bound.
    """
    _warn_of_large_delta(worth.delta, n_records)
    a_record = worth.strength / steps
    if n_records * a_record < worth.least + (worth.count_noise if noisy else 0.0):
        _warn_of_little_signal("for so few records and so small an epsilon")
    elif weight is not None and weight * a_record < worth.least + worth.count_noise:
        _warn_of_little_signal(
            f"the weights of the records sum to about {weight:.0f} times max_sample_weight, and "
            "noise is made for a record of the largest weight (declare a smaller one where you "
            "can): for so little weight and so small an epsilon"
        )


def _warn_of_large_delta(delta: float, n_records: float) -> None:
    """Delta that allows to publish a record as it is."""
    if delta * n_records >= 1:
        warnings.warn(
            f"delta = {delta:g} is not below one over the number of records (about "
            f"{n_records:.0f}): a model that publishes one record as it is would satisfy it. "
            f"Take a delta far below, such as {_tidy(0.01 / n_records):g}, or 0 for pure epsilon",
            WeakGuaranteeWarning,
            stacklevel=level_of_caller(),
        )


def _warn_of_little_signal(why: str) -> None:
    """A budget that cannot be expected to carry a model."""
    warnings.warn(
        f"the budget is unlikely to carry a model: {why} "
        "expect little better than the most frequent class, or the mean. Use more records or a "
        "larger epsilon, or publish a count instead of a model; 'dpforest plan' says what to "
        "expect, before anything is spent",
        LittleSignalWarning,
        stacklevel=level_of_caller(),
    )


def level_of_caller() -> int:
    """Where a warning points to: the first call from outside of this library."""
    level, frame = 1, inspect.currentframe()
    frame = frame and frame.f_back
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("dpforest"):
        level, frame = level + 1, frame.f_back
    return level


def _tidy(number: float) -> float:
    """The power of ten below."""
    return float(10.0 ** math.floor(math.log10(number)))

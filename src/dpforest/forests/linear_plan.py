"""How much of the flagship's budget a linear start gets: public facts and a noisy n."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.forests.purse import Purse
from dpforest.losses import Loss

LINEAR_SIGNAL = 6.0  # with less, everything goes into a linear model
ROOT_FEATURE = 3.6  # the root of the features is counted so often, as 13 features count once each
MANY_VALUES = 1_000_000  # records times features: from here on a step costs time


@dataclass(frozen=True)
class LinearPlan:
    """How much of what is left a linear start gets, and in how many steps.

    Parameters
    ----------
    share : Fraction
        Of the budget for the model; all of it where there is too little signal for trees.
    n_steps : int
    """

    share: Fraction
    n_steps: int


NO_LINEAR_START = LinearPlan(Fraction(0), 0)


def plan_linear(
    purse: Purse,
    share: Fraction,
    n_records: float,
    n_features: int,
    ordered: float,
    loss: Loss,
) -> LinearPlan:
    """A linear start has few weights: it is for signal that is too little for trees alone.

    Only under Gaussian noise: the L1 norm of a record's row, which Laplace noise would have to
    hide, grows with the features. ``ordered`` is the share of the features that are numbers or
    have two categories: a line tells less of others, so they get none as soon as trees can learn.
    How long a line pays at all, the loss says.
    """
    if not purse.private or purse.pure or n_records <= 0:
        return NO_LINEAR_START
    # The noise of all weights together grows with the root of their number.
    signal = n_records * purse.strength * math.sqrt(share) / (ROOT_FEATURE * math.sqrt(n_features))
    most = loss.most_linear_signal
    if signal > (most if ordered >= 0.5 else most / 5.0):
        return NO_LINEAR_START
    part = min(1.0, LINEAR_SIGNAL / signal)
    most_steps = 32 if n_records * n_features < MANY_VALUES else 16
    n_steps = min(max(round(3.0 * math.sqrt(signal)), 2), most_steps)
    return LinearPlan(Fraction(part).limit_denominator(1000), n_steps)

"""The losses that boosting lowers: public arithmetic, which knows of no store and no total.

A loss is one file: its derivatives, their bounds, the way back from scores to predictions, and
the rules by which a forest that lowers it is planned. The room lies beneath both `records`, which
takes the derivatives of records, and `forests`, which plans and predicts. The sensitivity does not
rest on it: `dpforest.records.gradient_kernels` holds whatever a loss gives for a record to the
bound that noise is made for. What a loss owes is that the derivatives of a record depend on that
record, its score and what is public alone; `tests/losses/test_losses.py` holds all losses to it.
"""

from dpforest.losses.base import Loss, Norm
from dpforest.losses.integer import LARGEST_GRID, IntegerLoss
from dpforest.losses.logistic import Logistic
from dpforest.losses.pinball import Pinball
from dpforest.losses.softmax import Softmax
from dpforest.losses.squared import Squared

__all__ = [
    "LARGEST_GRID",
    "IntegerLoss",
    "Logistic",
    "Loss",
    "Norm",
    "Pinball",
    "Softmax",
    "Squared",
]

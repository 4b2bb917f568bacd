"""Tasks of Dask, on whatever scheduler is in use, and what they give back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
from dask.delayed import Delayed

from dpforest.records.answers import Failure, engine_error

_ADVICE = (
    "see that the cluster has workers with memory for their partitions and the same packages, "
    "and that the frame can be computed (X.head())"
)


def results(tasks: Sequence[Delayed]) -> list[Any]:
    """What the tasks give, in their order; raises where one of them says that it failed."""
    try:
        found = list(dask.compute(*tasks, optimize_graph=False))
    except Exception as error:
        raise engine_error("Dask", error, _ADVICE) from None
    for one in found:
        if isinstance(one, Failure):
            raise one.error()
    return found


def persisted(tasks: Sequence[Delayed]) -> list[Delayed]:
    """The tasks, begun, with what they give kept on the workers."""
    try:
        return list(dask.persist(*tasks))
    except Exception as error:
        raise engine_error("Dask", error, _ADVICE) from None

"""Does it leak more than it says? Games, enumeration and attacks against a guarantee."""

from dpforest.audit.distinguish import audit
from dpforest.audit.report import AuditReport
from dpforest.audit.worlds import SMALL_REGRESSION, SMALL_SCHEMA, Pair, Table, worst_pairs

__all__ = [
    "SMALL_REGRESSION",
    "SMALL_SCHEMA",
    "AuditReport",
    "Pair",
    "Table",
    "audit",
    "worst_pairs",
]

"""Workloads: counting queries over a domain, such as the leaves of trees and their votes.

What is asked, before anyone asks it: public, free of records and of noise. How workloads are
answered privately is the business of `dpforest.privacy.workloads`; ``docs/privacy/matrix.md``.
"""

from dpforest.trees.workloads.linear import KroneckerUnion, Rows, Workload, marginals
from dpforest.trees.workloads.of_trees import Paths, Votes

__all__ = ["KroneckerUnion", "Paths", "Rows", "Votes", "Workload", "marginals"]

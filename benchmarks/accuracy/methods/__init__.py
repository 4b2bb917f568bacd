"""The methods that are compared, in groups; a group runs in an environment of its own."""

import math
import sys
from dataclasses import dataclass

from benchmarks.accuracy.methods.settings import NOISY_DESCENTS


@dataclass(frozen=True)
class Group:
    """Methods that share a module of this folder and the packages it needs (none: ours)."""

    name: str
    private: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    before_python: tuple[int, int] = (4, 0)  # the packages do not install from here on
    by_default: bool = True  # else only when it is named: too slow for every table

    @property
    def installable(self) -> bool:
        return sys.version_info < self.before_python

    def settings(self, epsilons: list[float], n_classes: int) -> list[tuple[str, float]]:
        """Return the (method, epsilon) pairs to measure on a target of this kind."""
        private = [(m, e) for m in self.private if learns(m, n_classes) for e in epsilons]
        return private + [(method, math.inf) for method in self.plain]


def learns(method: str, n_classes: int) -> bool:
    """Tell whether a method can learn this target (0 classes: a number)."""
    # more rounds are more noise: for numbers they never helped, fewer do
    if method in ("dp_ebm_rounds100", "dp_ebm_rounds1000"):
        return n_classes == (0 if method == "dp_ebm_rounds100" else 2)
    if method.startswith("dp_ebm"):
        return n_classes in (0, 2)
    if method.startswith("diffprivlib"):
        return (n_classes == 0) == (method == "diffprivlib_linear")
    return True


GROUPS = (
    Group("plain", plain=("majority", "extra_trees", "hist_gradient_boosting")),
    Group(
        "diffprivlib",
        private=("diffprivlib_depth5", "diffprivlib_depth8", "diffprivlib_linear"),
        requirements=("diffprivlib==0.6.6", "scikit-learn==1.6.1"),
    ),
    Group(
        "ebm",
        private=("dp_ebm", "dp_ebm_rounds100", "dp_ebm_rounds1000", "dp_ebm_rate0.03"),
        requirements=("interpret-core==0.7.8", "scikit-learn==1.9.1"),
    ),
    Group("linear", private=tuple(NOISY_DESCENTS)),
    Group(
        "synthetic",
        private=("synthetic_mst", "synthetic_mst_target5", "synthetic_mst_target10"),
    ),
    Group(
        "aim",
        private=("synthetic_aim",),
        requirements=("dpmm==0.1.9",),
        before_python=(3, 12),
        by_default=False,
    ),
    Group("ours", private=("dpforest", "dpforest_pure"), plain=("dpforest_inf",)),
)

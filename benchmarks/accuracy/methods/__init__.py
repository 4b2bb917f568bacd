"""The methods that are compared, in groups; a group runs in an environment of its own."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Methods that share a module of this folder and the packages it needs (none: ours)."""

    name: str
    private: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()

    def suits(self, n_classes: int) -> bool:
        """Tell whether the methods can learn this target (0 classes: a number)."""
        return {"ebm": n_classes in (0, 2), "diffprivlib": n_classes > 0}.get(self.name, True)

    def settings(self, epsilons: list[float]) -> list[tuple[str, float]]:
        """Return the (method, epsilon) pairs to measure."""
        private = [(method, epsilon) for method in self.private for epsilon in epsilons]
        return private + [(method, math.inf) for method in self.plain]


GROUPS = (
    Group("plain", plain=("majority", "extra_trees", "hist_gradient_boosting")),
    Group(
        "diffprivlib",
        private=("diffprivlib_depth5", "diffprivlib_depth8"),
        requirements=("diffprivlib==0.6.6", "scikit-learn==1.6.1"),
    ),
    Group(
        "ebm",
        private=("dp_ebm", "dp_ebm_rounds1000", "dp_ebm_rate0.03"),
        requirements=("interpret-core==0.7.8", "scikit-learn==1.9.1"),
    ),
    Group("ours", private=("dpforest", "dpforest_pure"), plain=("dpforest_inf",)),
)

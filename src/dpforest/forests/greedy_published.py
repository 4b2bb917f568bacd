"""Which printed flaws of greedy forests go with which settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.forests.parameters import check_choice

if TYPE_CHECKING:
    from dpforest.forests.greedy import GreedyForestClassifier

NEEDS: dict[str, dict[str, object]] = {
    "bootstrap": {"sampling": "shared"},
    "pure_stop": {},
    "gain_ratio": {
        "splits": "multiway",
        "criterion": "information_gain",
        "selection": "exponential",
        "stopping": None,
    },
    "selective_aggregation": {},
    "misclassified_weights": {"sampling": "shared"},
}
"""What the print of a flaw takes for granted."""


def check_published(forest: GreedyForestClassifier) -> None:
    """Refuse flaws that nobody printed, and settings that their print does not have."""
    if not isinstance(forest.published, tuple | list):
        raise TypeError(
            f"published must be a tuple of names, got {forest.published!r}: write () for none, or "
            "('pure_stop',)"
        )
    for flaw in forest.published:
        check_choice("a name in published", flaw, tuple(NEEDS))
        for name, value in NEEDS[flaw].items():
            if getattr(forest, name) != value:
                raise ValueError(f"published={flaw!r} is printed with {name}={value!r}: set it")
    weighted = "misclassified_weights" in forest.published
    if weighted and not forest.second_phase:
        raise ValueError(
            "published='misclassified_weights' is about a second phase: give its share"
        )
    if forest.second_phase and "bootstrap" in forest.published and not weighted:
        raise ValueError(
            "bootstrap samples in two phases are TpDPRF: add 'misclassified_weights' to published"
        )

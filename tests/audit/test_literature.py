"""Every recipe that is broken as published: enumeration finds the tables, and its repair holds.

A world is small enough to follow every draw: one tree or two of one split.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    NoGuaranteeWarning,
    NumericFeature,
    Schema,
    Target,
    literature,
)
from dpforest.audit import Table, exhaust
from dpforest.audit.exhaustive import worst_loss
from dpforest.audit.script import branches_of

CLASSES = Target(classes=(0, 1))
NUMBER = Schema((NumericFeature("x", 0.0, 1.0, cuts=(0.5,)),), CLASSES)
NUMBERS = Schema((*NUMBER.features, NumericFeature("z", 0.0, 1.0, cuts=(0.5,))), CLASSES)
FINE = Schema((NumericFeature("x", 0.0, 1.0, cuts=tuple(i / 8 for i in range(1, 8))),), CLASSES)
CATEGORY = Schema((CategoricalFeature("a", (0, 1)),), CLASSES)
CATEGORIES = Schema((*CATEGORY.features, CategoricalFeature("b", (0, 1))), CLASSES)


@dataclass(frozen=True)
class World:
    """A schema, records and sizes of tables, and what makes a recipe small."""

    schema: Schema
    records: list[tuple[Any, ...]]
    least: int
    most: int
    epsilon: float = 1.0
    small: dict[str, Any] = field(default_factory=dict)
    repaired: dict[str, Any] = field(default_factory=dict)

    def forest(self, name, variant):
        shape = {"n_estimators": 1, "max_depth": 1, **self.small}
        if variant == "repaired":
            shape |= self.repaired
        return literature.make(
            name, epsilon=self.epsilon, variant=variant, schema=self.schema, random_state=0, **shape
        )

    def check(self, name, variant):
        sizes = {"least": self.least, "most": self.most}
        return exhaust(self.forest(name, variant), self.records, **sizes, claim=self.epsilon)


PAIR = [(0.2, 0), (0.2, 1)]
GREEDY = {"min_support": 0.0, "max_features": None}
TWO_TREES = {"n_estimators": 2, "leaves": "label", "splits": "binary"}
COINS = {"sample_share": 0.5}  # two sides, each of which is followed
BAGGED = World(NUMBER, PAIR, 2, 3, 1.5, GREEDY, COINS)
WORLDS = {
    "snr_forest": World(
        CATEGORIES, [(0, 0, 0)], 22, 23, 1.0, {"n_estimators": "auto"}, {"n_estimators": 2}
    ),
    "smooth_forest": World(CATEGORY, [(0, 0), (0, 1)], 1, 3),
    "diprime": World(FINE, [(0.01, 0), (0.6, 0), (0.99, 1)], 2, 3, 1.0, {"leaves": "label"}),
    "dprf_thesis": World(CATEGORY, [(0, 0), (1, 1)], 3, 8),
    "diffprf_infogain": BAGGED,
    "diffprf_max": BAGGED,
    "diffprf_gini": BAGGED,
    "diffprf_deng": BAGGED,
    "diffprf_linear": BAGGED,
    "dprf_gini": BAGGED,
    "dprf_maxtree": BAGGED,
    "dprf_hou": BAGGED,
    "dpgdf": World(
        NUMBER, PAIR, 1, 2, 0.1,
        {**GREEDY, **TWO_TREES},
    ),
    "tpdprf": World(
        NUMBER, PAIR, 1, 2, 1.0,
        {**GREEDY, **TWO_TREES}, {"sample_share": 1.0},
    ),
    "edprf": World(NUMBERS, [(0.2, 0.2, 0), (0.7, 0.2, 1)], 1, 2, 1.0, GREEDY),
}  # fmt: skip


def test_every_broken_recipe_has_a_world():
    broken = [n for n in literature.names() if literature.describe(n).as_published is not None]
    assert set(WORLDS) == set(broken)


@pytest.mark.parametrize("name", [name for name in WORLDS if name != "tpdprf"])
def test_a_recipe_is_caught_as_published(name):
    assert not WORLDS[name].check(name, "as_published").holds


def test_the_second_phase_of_tpdprf_is_caught_as_published():
    # One pair: to follow two bootstrap samples of three records on every pair takes long.
    forest = WORLDS["tpdprf"].forest("tpdprf", "as_published")
    with pytest.warns(NoGuaranteeWarning):
        two, three = (
            branches_of(forest, Table(np.full((len(y), 1), 0.2), np.array(y)))
            for y in ([0, 0], [0, 0, 1])
        )
    assert worst_loss(two, three) > 1.0


@pytest.mark.parametrize("name", WORLDS)
def test_its_repair_holds_in_the_same_world(name):
    assert WORLDS[name].check(name, "repaired").holds

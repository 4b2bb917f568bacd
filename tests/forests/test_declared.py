"""Declared parameters: a constructor that stores, a check that looks at what was stored."""

import inspect

import pytest

from dpforest import GreedyForestClassifier, PrivateForestClassifier, RandomDecisionForestClassifier
from dpforest.forests.declared import Declared, fitted, lent, one_of, parameter


def positive(name, value):
    if not value > 0:
        raise ValueError(f"{name} must be above 0")


class Tree(Declared):
    depth: int = parameter(default=3, check=positive)
    splits: str = one_of("binary", "multiway", default="binary")
    grown_: int = fitted()
    _inner: int = fitted()
    _borrowed: int = lent()


class Forest(Tree):
    depth: int = parameter(default=5, check=positive)
    trees: int = parameter(default=10)


def test_parameters_of_bases_come_first_and_may_be_declared_anew():
    assert [*inspect.signature(Forest).parameters] == ["depth", "splits", "trees"]
    assert (Forest().depth, Tree().depth, Forest(depth=1).depth) == (5, 3, 1)
    assert not hasattr(Forest(), "grown_")
    assert not hasattr(Forest(), "_borrowed")
    assert Forest.declared_results == Tree.declared_results == {"grown_", "_inner"}


@pytest.mark.parametrize(
    "kind", [Tree, RandomDecisionForestClassifier, GreedyForestClassifier, PrivateForestClassifier]
)
def test_a_misspelt_parameter_is_refused(kind):
    """Taken in silence, ``max_record_per_group`` would protect records where persons are meant."""
    with pytest.raises(TypeError, match="has no parameter 'max_record_per_group'"):
        kind(max_record_per_group=3)


def test_what_is_stored_is_what_is_checked():
    forest = Forest(depth=0)  # the constructor only stores
    with pytest.raises(ValueError, match="depth must be above 0"):
        forest.check_parameters()
    forest.depth, forest.splits = 2, "ternary"
    with pytest.raises(ValueError, match="splits"):
        forest.check_parameters()
    forest.splits = "multiway"
    forest.check_parameters()

"""Rules for the shape of a forest: they read the schema only, and keep trees within bounds."""

import pytest

from dpforest import CategoricalFeature, NumericFeature, Schema
from dpforest.literature import rules


def table(n_numbers=0, n_categorical=0, n_categories=4):
    numbers = [NumericFeature(f"x{j}", 0, 1) for j in range(n_numbers)]
    categories = tuple(map(str, range(n_categories)))
    rest = [CategoricalFeature(f"c{j}", categories) for j in range(n_categorical)]
    return Schema((*numbers, *rest))


@pytest.mark.parametrize("rule", rules.RULES.values())
@pytest.mark.parametrize("schema", [table(1), table(0, 1), table(60), table(0, 60), table(3, 200)])
def test_depths_are_positive_and_no_more_than_features_allow(rule, schema):
    assert 1 <= rule(schema) <= max(schema.n_features, 2)


def test_half_of_the_features_met_is_the_papers_depth():
    for s in range(2, 20):
        depth = rules.half_of_the_features_met(table(s))
        assert s * ((s - 1) / s) ** depth < s / 2 <= s * ((s - 1) / s) ** (depth - 1)
    assert rules.half_of_the_features_met(table(0, 22)) == 11
    assert rules.half_of_the_features_met(table(0, 60)) == rules.DEEPEST


def test_a_bushy_tree_has_few_leaves():
    schema = table(0, 22, 30)
    assert rules.half_the_features(schema) == 11
    assert 32 ** rules.half_the_features_of_a_bushy_tree(schema) <= rules.LEAVES_OF_A_BUSHY_TREE

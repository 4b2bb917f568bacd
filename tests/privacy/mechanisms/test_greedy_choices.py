"""What greedy nodes choose by: the law of a choice on every small node, which costs epsilon.

A world is a node whose records have a value of each of two attributes and a class, as in
`test_scores`; all worlds are nodes of one question.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.greedy_choices import Rule, choose
from dpforest.privacy.mechanisms.selection import (
    exponential_probabilities,
    permute_and_flip_probabilities,
)
from dpforest.privacy.mechanisms.splitting import NO_CANDIDATE
from dpforest.trees.attribute_grower import AttributeQuestion
from dpforest.trees.level_grower import SplitQuestion
from dpforest.trees.structure import FeatureBins

EPSILON = 60  # so much that small nodes come close to the worst
BINS = FeatureBins(np.array([2, 2]), np.array([2, 2]), np.array([True, True]))
SCORES = ("gini", "information_gain", "max", "f_max")
LAWS = {
    "exponential": exponential_probabilities,
    "permute_and_flip": permute_and_flip_probabilities,
}


class Recorder(Draws):
    """Keeps what was asked for, and takes the first candidate."""

    def permute_and_flip(self, utilities, **asked):
        self.asked = "permute_and_flip", np.asarray(utilities), asked
        return np.zeros(len(utilities), np.int64)

    def exponential(self, utilities, **asked):
        self.asked = "exponential", np.asarray(utilities), asked
        return np.zeros(len(utilities), np.int64)


def attributes(n_nodes):
    features = np.tile(np.array([[0, 1]], np.int32), (n_nodes, 1))
    return AttributeQuestion(None, features, BINS)


def cuts(n_nodes):
    features = np.tile(np.array([[0, 1]], np.int32), (n_nodes, 1))
    never = np.zeros(2, bool)
    order = np.tile(np.arange(256), (2, 1))
    boxes = np.zeros((n_nodes, 2, 4), np.uint64)
    boxes[..., 0] = 0b11
    lengths = np.ones((2, 256), np.int64)
    return SplitQuestion(None, features, order, never, never, BINS, lengths, boxes)


def neighbours():
    """Nodes of up to three records or of crowds, and the same with one record more."""
    kinds = np.eye(8, dtype=np.int64)
    few = itertools.combinations_with_replacement(range(9), 3)
    small = [np.bincount(world, minlength=9)[:8] for world in few]
    crowds = [20 * (a + b) for a, b in itertools.combinations(kinds, 2)]
    tables = np.array([*small, *20 * kinds, *crowds])
    larger = tables[:, np.newaxis] + kinds
    return np.repeat(tables, 8, axis=0), larger.reshape(-1, 8)


def asked_of(tables, question, rule):
    """By which mechanism, by which utilities and at which price the nodes choose."""
    cube = tables.reshape(-1, 2, 2, 2)
    histograms = np.stack([cube.sum(axis=2), cube.sum(axis=1)], axis=1)
    draws = Recorder()
    choose(histograms, question(len(tables)), slice(None), rule, Fraction(EPSILON), draws)
    return draws.asked


def law_of(tables, question, rule):
    """The logarithm of the probability of every candidate of every node."""
    name, utilities, asked = asked_of(tables, question, rule)
    assert name == rule.selection
    assert asked["epsilon"] == EPSILON
    with np.errstate(divide="ignore"):
        return np.log(LAWS[name](utilities, **asked))


@pytest.mark.parametrize("question", [attributes, cuts])
@pytest.mark.parametrize("cost", [None, Fraction(3, 2)])
@pytest.mark.parametrize("selection", LAWS)
@pytest.mark.parametrize("score", SCORES)
def test_a_choice_costs_epsilon_and_hardly_less(score, selection, cost, question):
    rule = Rule.of(score, n_bound=4, selection=selection, cost=cost)
    one, other = (law_of(tables, question, rule) for tables in neighbours())
    possible = np.isfinite(one)
    assert (possible == np.isfinite(other)).all()
    worst = np.abs(one[possible] - other[possible]).max()
    assert 0.9 * EPSILON < worst <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("question", [attributes, cuts])
@pytest.mark.parametrize("score", SCORES)
def test_a_split_is_worth_its_children_less_its_cost(score, question):
    rule = Rule.of(score, n_bound=4, selection="exponential", cost=Fraction(3, 2))
    tables = neighbours()[1]
    _, utilities, _ = asked_of(tables, question, rule)
    cube = tables.reshape(-1, 2, 2, 2)
    stop = rule.score.of_children(cube.sum(axis=(1, 2)))
    splits = [rule.score.of_children(cube.sum(axis=axis)).sum(axis=1) for axis in (2, 1)]
    cost = round(Fraction(3, 2) * rule.score.sensitivity)
    offered = utilities[:, (utilities > NO_CANDIDATE).all(axis=0)]
    np.testing.assert_array_equal(offered, np.column_stack([stop, *(s - cost for s in splits)]))

"""Phases of greedy growing: on every way to a leaf, spans follow each other and fit in epsilon."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpforest.forests import greedy_phase
from dpforest.forests.greedy_phase import Phase
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.leaves import LeafRelease
from dpforest.trees.level_budgets import LEVEL_BUDGETS, share_out

LEVELS = 3
EPSILON = Fraction(3, 2)
WITH_COUNTS = ("hou", "cube_root")


class Grower:
    """Asks so many levels, of one node each; one leaf after 0, 1, ... choices."""

    def __init__(self, levels):
        self.left, self.leaf_choices = levels, np.arange(levels + 1)

    def ask(self):
        self.left -= 1
        return SimpleNamespace(features=np.zeros((1, 1))) if self.left >= 0 else None

    def answer(self, candidate, option):
        pass

    def finish(self):
        return SimpleNamespace(n_leaves=len(self.leaf_choices), max_depth=1)


@pytest.fixture
def grown(monkeypatch):
    """Grow with nothing but spans: those of choices, of counts, and the question to the leaves."""

    def grow(scheme, align, stop_on_counts, leaves="counts", levels=LEVELS):
        choices, counts, asked = [], [], []
        one = np.zeros(1, np.int64)

        def choose(desk, question, n_classes, rule, span, sampling):
            choices.append(span)
            return one, one

        def count(desk, question, n_classes, span, sampling):
            counts.append(span)
            return np.ones(1), 0.5

        def release(desk, question):
            asked.append(question)
            return LeafRelease(np.zeros((levels + 1, 2)), np.zeros(levels + 1))

        monkeypatch.setattr(greedy_phase, "choose_attributes", choose)
        monkeypatch.setattr(greedy_phase, "node_counts", count)
        monkeypatch.setattr(greedy_phase, "leaf_counts", release)
        monkeypatch.setattr(greedy_phase, "leaf_labels", release)
        phase = Phase(
            desk=None, n_classes=2, epsilon=EPSILON, shares=share_out(scheme, LEVELS),
            sampling=TreeSampling("without_replacement", 2, Fraction(1, 2)), rule=None,
            stop_on_counts=stop_on_counts, align=align, leaves=leaves,
        )  # fmt: skip
        phase.grow(Grower(levels))
        (question,) = asked
        return choices, counts, question

    return grow


SETTINGS = [
    (scheme, align, stop)
    for scheme, align, stop in itertools.product(LEVEL_BUDGETS, (True, False), (True, False))
    if not stop or scheme in WITH_COUNTS
]


@pytest.mark.parametrize("levels", [LEVELS, 2])
@pytest.mark.parametrize("leaves", ["label", "counts"])
@pytest.mark.parametrize(("scheme", "align", "stop"), SETTINGS)
def test_on_every_way_spans_follow_each_other(grown, scheme, align, stop, leaves, levels):
    """Prices of samples do not add up, but spans that do not overlap cost what they reach to."""
    choices, counts, question = grown(scheme, align, stop, leaves, levels)
    assert len(choices) == levels
    assert len(counts) == (levels if stop else 0)
    for made, level in zip(range(levels + 1), question.level, strict=True):
        way = sorted([*choices[:made], *counts[:made], question.spans[level]])
        assert way[0].before >= 0
        assert way[-1].after <= EPSILON
        assert all(a.after <= b.before for a, b in itertools.pairwise(way))
        if align:  # a leaf has all that its way left
            assert way[-1].after == EPSILON
            assert sum(span.price for span in way) == EPSILON
    # The ledger is told of all that any way spends, and of no more than epsilon.
    debited = sum(span.price for span in [*choices, *counts, *question.debits])
    assert debited == EPSILON


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("scheme", LEVEL_BUDGETS)
def test_leaves_that_are_not_aligned_have_no_more_than_the_longest_way(grown, scheme, stop):
    if stop and scheme not in WITH_COUNTS:
        return
    _, _, aligned = grown(scheme, True, stop)
    _, _, question = grown(scheme, False, stop)
    by_choices = [question.spans[level] for level in question.level]
    assert by_choices[-1] == question.debits[-1]
    if scheme in WITH_COUNTS and not stop:  # what the scheme gives to counts of the level
        shares = share_out(scheme, LEVELS)
        assert [span.price for span in by_choices] == [EPSILON * part for part in shares.counts]
    else:  # all leaves alike
        assert len(set(by_choices)) == 1
    # The control: aligned leaves on short ways have more.
    assert aligned.spans[0].price > by_choices[0].price

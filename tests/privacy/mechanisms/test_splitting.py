"""Private splits: every pair of neighbours in a small world, and what broken mechanisms would show.

A world is a node whose records have one of three bins in each of two features, and a class or a
target. Draws are replaced by recorders, and the exact output distributions computed instead.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.literature.printed.mechanisms import printed_splits as published_splits
from dpforest.privacy.mechanisms import selection, splitting
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.privacy.mechanisms.selection import (
    exponential_probabilities,
    permute_and_flip_probabilities,
)
from dpforest.privacy.mechanisms.splitting import NodeSplits, choose_splits, squares_over_size
from dpforest.trees.level_grower import SplitQuestion
from dpforest.trees.structure import FeatureBins

EPSILON = 0.8
SLACK = 1e-9
STEPS = 4
RECORDS = {
    0: tuple(itertools.product(range(3), range(2), (0, 1))),  # class of two
    STEPS: tuple(itertools.product(range(3), range(2), (0, 1, STEPS))),  # target in steps
}
WORLDS = {
    steps: [w for n in range(4) for w in itertools.combinations_with_replacement(records, n)]
    for steps, records in RECORDS.items()
}


def splits_of(world, steps, weights=((2, 1), (1, 0))):
    """What the curator would see: feature 0 has two cuts, feature 1 has one."""
    left = np.zeros((1, 2, 2, 2), np.int64)
    total = np.zeros((1, 2, 1, 2), np.int64)
    for *bins, target in world:
        numbers = np.array([1, target]) if steps else np.eye(2, dtype=np.int64)[target]
        total[0, :, 0] += numbers
        for k, cut in itertools.product(range(2), range(2)):
            left[0, k, cut] += numbers * (bins[k] <= cut)
    return NodeSplits(left, total, np.array([weights]), steps)


def neighbours(steps, values):
    for world, value in values.items():
        for record in RECORDS[steps]:
            larger = tuple(sorted((*world, record)))
            if larger in values:
                yield value, values[larger]


@pytest.mark.parametrize("steps", [0, STEPS])
def test_error_is_monotone_with_the_stated_sensitivity(steps):
    utilities = {}
    for world in WORLDS[steps]:
        splits = splits_of(world, steps)
        # The common term that choices do not need: it makes the utility minus the error.
        squares = sum(t * t if steps else splitting.CLASS_STEP**2 for *_, t in world)
        utilities[world] = splits.error() - squares
    changes = np.array([b - a for a, b in neighbours(steps, utilities)])
    assert changes.max() <= 0
    assert changes.min() >= -splits_of((), steps).sensitivity
    assert changes.min() < -0.5 * splits_of((), steps).sensitivity


def test_balance_has_sensitivity_one_and_is_not_monotone():
    values = {w: splits_of(w, 0).balance() for w in WORLDS[0]}
    changes = np.array([b - a for a, b in neighbours(0, values)])
    assert changes.min() == -1
    assert changes.max() == 1


def test_squares_over_size_is_exact():
    rng = np.random.default_rng(0)
    for size in (1, 7, 10**3, 10**8):
        counts = rng.integers(0, size, (50, 3))
        exact = [
            sum((splitting.CLASS_STEP * int(c)) ** 2 for c in row) // max(int(row.sum()), 1)
            for row in counts
        ]
        assert squares_over_size(counts, 0).tolist() == exact


def scripts(splits, choice, epsilon, monkeypatch):
    """What each sequence of draws leads to, with the law of each draw, over all sequences."""

    def follow(script):
        drawn = []

        def draw(utilities, law, **settings):
            rows = law(utilities, **settings).reshape(-1, np.shape(utilities)[-1])
            chosen = []
            for row in rows:
                place = len(drawn)
                index = script[place] if place < len(script) else 0
                drawn.append((index, row))
                chosen.append(index)
            return np.array(chosen).reshape(np.shape(utilities)[:-1])

        def exponential(utilities, *, bits, **settings):
            return draw(utilities, exponential_probabilities, **settings)

        def flip(utilities, *, bits, **settings):
            return draw(utilities, permute_and_flip_probabilities, **settings)

        monkeypatch.setattr(selection, "exponential_mechanism", exponential)
        monkeypatch.setattr(selection, "permute_and_flip", flip)
        (candidate,), (option,) = choose_splits(splits, choice, Fraction(epsilon), Draws(0))
        return (int(candidate), int(option)), drawn

    script = []
    while script is not None:
        answer, drawn = follow(script)
        yield answer, drawn
        # The last draw that can take another value decides what to follow next.
        script = None
        for place in reversed(range(len(drawn))):
            index, row = drawn[place]
            if index + 1 < len(row):
                script = [i for i, _ in drawn[:place]] + [index + 1]
                break


def outcomes(splits, choice, monkeypatch):
    """The exact probability of every (candidate, option), by letting each draw take every value."""
    found = {}
    for key, drawn in scripts(splits, choice, EPSILON, monkeypatch):
        found[key] = found.get(key, 0.0) + math.prod(row[i] for i, row in drawn)
    assert math.isclose(sum(found.values()), 1.0)
    return found


def worst_loss(one, other):
    return max(abs(math.log(one[k] / other[k])) for k in one if one[k] > 0)


@pytest.mark.parametrize("choice", ["pay", "joint", "attribute"])
@pytest.mark.parametrize("steps", [0, STEPS])
def test_a_choice_costs_at_most_epsilon(choice, steps, monkeypatch):
    worlds = [w for w in WORLDS[steps] if len(w) <= 2]
    released = {w: outcomes(splits_of(w, steps), choice, monkeypatch) for w in worlds}
    losses = [worst_loss(a, b) for a, b in neighbours(steps, released)]
    assert 0 < max(losses) <= EPSILON + SLACK


MUCH = 100  # so much epsilon that the chance of all but the best vanishes
BOTH_CUT = ((1, 1), (1, 1))


def crowds(steps):
    """Crowds of one kind of record, alone and with one record of any kind more."""
    kinds = list(itertools.product(range(3), range(3), (0, steps or 1)))
    for crowd in kinds:
        for record in kinds:
            yield [crowd] * 30, [*[crowd] * 30, record]


@pytest.mark.parametrize("choice", ["pay", "joint", "attribute"])
@pytest.mark.parametrize("steps", [0, STEPS])
def test_the_draws_of_a_choice_cost_epsilon_together_and_hardly_less(choice, steps, monkeypatch):
    """The worst of each draw, given the draws before it, over crowds: added up, all of epsilon."""
    laws, worst = {}, {}

    def draws_of(world):
        key = tuple(world)
        if key not in laws:
            splits = splits_of(world, steps, BOTH_CUT)
            laws[key] = {
                tuple(i for i, _ in drawn[:place]): np.log(row)
                for _, drawn in scripts(splits, choice, MUCH, monkeypatch)
                for place, (_, row) in enumerate(drawn)
            }
        return laws[key]

    for world, larger in crowds(steps):
        one, other = draws_of(world), draws_of(larger)
        for before, law in one.items():
            loss = np.abs(law - other[before]).max()
            worst[len(before)] = max(worst.get(len(before), 0.0), loss)
    assert 0.9 * MUCH < sum(worst.values()) <= MUCH * (1 + SLACK)


def test_options_add_up_bins_in_order_and_put_what_is_missing_on_one_side():
    rng = np.random.default_rng(0)
    order = np.tile(np.arange(256), (4, 1))
    order[2, :3] = [2, 0, 1]
    bins = FeatureBins(np.array([3, 2, 3, 3]), np.array([4, 4, 5, 5]), np.array([0, 0, 1, 1], bool))
    first, alone = np.array([True, False, False, False]), np.array([False, False, False, True])
    features = np.array([[0, 1, 2], [3, -1, 0]], np.int32)
    boxes = np.full((2, 4, 4), 0b111, np.uint64)
    lengths = np.ones((4, 256), np.int64)
    question = SplitQuestion(None, features, order, first, alone, bins, lengths, boxes)
    histograms = rng.integers(0, 9, (2, 3, 5, 2))
    splits = NodeSplits.of(histograms, question, slice(None), 0)
    for node, k in np.argwhere(features >= 0):
        feature, histogram = features[node, k], histograms[node, k]
        values = bins.n_values[feature]
        np.testing.assert_array_equal(splits.total[node, k, 0], histogram.sum(axis=0))
        for option in range(values):
            on_left = (
                order[feature, option : option + 1]
                if alone[feature]
                else order[feature, : option + 1]
            )
            expected = histogram[on_left].sum(axis=0)
            if first[feature]:
                expected = expected + histogram[values:].sum(axis=0)
            np.testing.assert_array_equal(splits.left[node, k, option], expected)


def test_control_k_medians_for_the_price_of_one_are_caught():
    """What DiPriMe prints: two cuts of the same records, of which only one was paid for."""

    def law(world):
        rows = exponential_probabilities(
            splits_of(world, 0).balance(), epsilon=EPSILON, sensitivity=1, monotone=False,
            weights=np.array([[[1, 1], [1, 1]]]),
        )[0]  # fmt: skip
        return np.log(np.multiply.outer(rows[0], rows[1]))

    laws = {w: law(w) for w in WORLDS[0]}
    losses = [np.abs(a - b).max() for a, b in neighbours(0, laws)]
    assert max(losses) > EPSILON + SLACK


@pytest.mark.parametrize("choice", ["pay", "joint", "attribute"])
def test_control_an_eighth_of_the_sensitivity_is_caught(choice, monkeypatch):
    stated = splits_of((), 0).sensitivity
    monkeypatch.setattr(NodeSplits, "sensitivity", stated // 8)
    worlds = [w for w in WORLDS[0] if len(w) <= 2]
    released = {w: outcomes(splits_of(w, 0), choice, monkeypatch) for w in worlds}
    assert max(worst_loss(a, b) for a, b in neighbours(0, released)) > EPSILON + SLACK


def test_control_gaps_between_records_leak():
    """DiPriMe's cut: two neighbouring tables whose medians fall into gaps of other widths."""
    option = []
    for seed in range(300):
        for crowded in (False, True):
            bins = np.full(9, 4) if crowded else np.array([0, 0, 0, 0, 4, 8, 8, 8, 8])
            left = np.array([[(bins <= c).sum() for c in range(8)]])[..., np.newaxis]
            left = np.concatenate([left, np.zeros_like(left)], axis=-1)[np.newaxis]
            total = np.array([[[[9, 0]]]])
            splits = NodeSplits(left, total, np.ones((1, 1, 8), np.int64), 0)
            answer = published_splits(splits, "diprime", Fraction(20), Draws(seed))
            option.append((crowded, int(answer[1][0])))
    spread = {o for crowded, o in option if not crowded}
    packed = {o for crowded, o in option if crowded}
    assert packed <= {3, 4}
    assert len(spread) > 4


@pytest.mark.parametrize("choice", ["pay", "joint", "attribute"])
def test_without_noise_the_best_split_is_taken(choice):
    world = [(0, 0, 0)] * 5 + [(1, 1, 1)] * 5
    (candidate,), (option,) = choose_splits(splits_of(world, 0), choice, math.inf, Draws(0))
    assert (candidate, option) == (0, 0)


def test_candidates_without_options_are_never_chosen():
    world = [(0, 0, 0), (2, 1, 1)]
    splits = splits_of(world, 0)
    hidden = NodeSplits(splits.left, splits.total, splits.weights * [[[1], [0]]], 0)
    for choice, seed in itertools.product(("pay", "joint", "attribute"), range(50)):
        candidate, _ = choose_splits(hidden, choice, Fraction(1, 10), Draws(seed))
        assert candidate[0] == 0


def test_the_thesis_stops_pure_nodes():
    pure = [(i % 3, 0, 1) for i in range(30)]
    candidate, _ = published_splits(splits_of(pure, 0), "thesis", Fraction(1), Draws(0))
    assert candidate[0] == -1


def test_the_thesis_cuts_near_the_median():
    mixed = [(0, 0, 0)] * 40 + [(1, 0, 1)] * 20 + [(2, 0, 1)] * 10
    splits = splits_of(mixed, 0)
    only = NodeSplits(splits.left, splits.total, np.array([[[1, 1], [0, 0]]]), 0)
    _, option = published_splits(only, "thesis", Fraction(100), Draws(0))
    assert option[0] == 0  # 40 against 30, although 60 against 10 is on offer


def test_control_the_balance_of_the_thesis_is_no_monotone_score():
    """Its rate, epsilon for a sensitivity of 1, is for scores that all move the same way."""
    laws = {
        w: exponential_probabilities(
            splits_of(w, 0).balance()[0, 0], epsilon=EPSILON, sensitivity=1, monotone=True
        )
        for w in WORLDS[0]
    }
    losses = [np.abs(np.log(a / b)).max() for a, b in neighbours(0, laws)]
    assert max(losses) > EPSILON + SLACK

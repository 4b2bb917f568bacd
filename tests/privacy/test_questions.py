"""The choice of a question: a rate for the grid and the steps, paid first, by exact utilities."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.losses import IntegerLoss, Logistic, Softmax
from dpforest.privacy.accounts.bounded_range import BoundedRange
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.questions import QuestionChoices, contrasts, lengths, rate_for
from dpforest.records.blocks import Block
from dpforest.records.gradient_sums import GradientHistograms, GradientSums
from dpforest.records.shards import total_of
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.trees.oblivious import ObliviousTrees
from dpforest.trees.oblivious_grower import ObliviousGrower

ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
LOSS = IntegerLoss(Logistic(), 2, 1024, 0.5, 0.0)


def draw_candidates(**choices):
    rng = np.random.default_rng(0)
    weights = (np.ones(3), np.ones(3))
    settings = {"learnt": 0.0, "focus": 1.0, **choices}
    return ObliviousGrower(ENCODING.feature_bins, weights, rng, **settings).candidates()


CANDIDATES = {
    "questions": draw_candidates(),
    "trees": draw_candidates(chosen_levels=2, candidate_trees=30),
}


def choose(desk, candidates, loss, price):
    return QuestionChoices(desk, loss, price, 1, "choices").choose(candidates)


@pytest.fixture
def binned(recorded_desk):
    """Make a recording desk whose records are binned by feature."""

    def make(protection=None, **terms):
        desk = recorded_desk(protection, **terms)
        desk.encode(ENCODING, by_feature=True)
        desk.log.clear()
        return desk

    return make


@pytest.mark.parametrize("kind", CANDIDATES)
def test_the_rate_is_for_the_grid_times_the_steps(binned, protected, paid_before_read, kind):
    protection, steps = protected
    desk = binned(protection)
    choose(desk, CANDIDATES[kind], LOSS, Gaussian(0.05))
    ((what, rate),) = desk.draws.laws
    assert what == "exponential at"
    assert desk.made() == [BoundedRange(rate, 1024 * steps)]
    (entry,) = desk.ledger.entries
    assert 0.05 * (1 - 1e-3) < entry.cost().mu <= 0.05
    # By hand: mu is sqrt(2 pi) / 4 of the range, which is twice the rate times the sensitivity.
    by_hand = 0.05 / (math.sqrt(2 * math.pi) / 2 * 1024 * steps)
    assert float(rate) == pytest.approx(by_hand, rel=1e-3)
    paid_before_read(desk)


def test_the_best_question_has_the_largest_difference_of_gradients(binned):
    """The class is whether feature a is above 0.3: of all questions a cut of it at 1/4 is best."""
    candidates = draw_candidates()
    desk = binned(epsilon=math.inf)
    chosen = choose(desk, candidates, LOSS, Pure(math.inf))
    assert candidates.feature[chosen, 0] == 0
    assert candidates.goes_right[chosen, 0, :4].tolist() == [False, True, True, True]


def test_the_best_tree_has_the_longest_gradients_in_its_leaves(binned):
    """Against the plain way; the class is whether feature a is above 0.3, so it asks for a."""
    trees = CANDIDATES["trees"]
    desk = binned(epsilon=math.inf)
    chosen = choose(desk, trees, LOSS, Pure(math.inf))
    sums = desk.total(GradientSums(trees, LOSS))[..., 0, 0]
    assert chosen == np.abs(sums).sum(axis=1).argmax()
    cuts = trees.goes_right[chosen][trees.feature[chosen] == 0, :4].tolist()
    assert [False, True, True, True] in cuts


def test_choices_of_one_model_are_one_line_of_the_ledger(binned):
    desk = binned()
    choices = QuestionChoices(desk, LOSS, Gaussian(0.05), 4, "choices")
    for _ in range(4):
        choices.choose(draw_candidates())
    (branch,) = desk.ledger.entries
    assert branch.times == 4
    desk.log.clear()
    with pytest.raises(ValueError, match="paid for have been made"):
        choices.choose(draw_candidates())
    assert desk.log == []


def test_a_part_of_the_clip_fills_the_grid_at_the_same_price(binned):
    questions, rates, used = CANDIDATES["questions"], [], []
    for part in (1.0, 0.25):
        desk = binned()
        total = desk.total
        desk.total = lambda statistic, total=total: (used.append(statistic.loss), total(statistic))[
            1
        ]
        QuestionChoices(desk, LOSS, Gaussian(0.05), 1, "choices").choose(questions, part)
        rates += [rate for _, rate in desk.draws.laws]
    assert rates[0] == rates[1]
    assert [loss.clip for loss in used] == [0.5, 0.125]
    assert [loss.grid for loss in used] == [1024, 1024]
    assert [loss.gradient_unit for loss in used] == [2048.0, 8192.0]


def test_what_has_no_proof_is_refused_before_anything_is_spent(binned):
    desk = binned()
    with pytest.raises(ValueError, match="Gaussian price"):
        choose(desk, draw_candidates(), LOSS, Pure(0.1))
    l1 = IntegerLoss(Logistic(), 1, 1024, 0.5, 0.0)
    with pytest.raises(ValueError, match="bounded in L2"):
        choose(desk, draw_candidates(), l1, Gaussian(0.1))
    assert desk.log == []


def test_beyond_the_budget_nothing_is_read(binned):
    desk = binned(epsilon=0.1)
    with pytest.raises(Exception, match="budget"):
        choose(desk, draw_candidates(), LOSS, Gaussian(5.0))
    assert desk.log == []


def questions_of(rng, n_features, n):
    feature = rng.integers(0, n_features, (n, 1)).astype(np.int32)
    return ObliviousTrees(feature, rng.random((n, 1, 256)) < 0.5, np.ones(n, np.int32))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([10, 2**30, 2**55]))
def test_contrasts_are_exact_lengths_rounded_down(seed, n_outputs, size):
    rng = np.random.default_rng(seed)
    questions = questions_of(rng, 3, 20)
    totals = rng.integers(-size, size, (3, 256, n_outputs))
    found = contrasts(questions, totals)
    for q in range(20):
        signs = [1 if right else -1 for right in questions.goes_right[q, 0]]
        rows = totals[questions.feature[q, 0]].tolist()
        sums = [sum(s * row[k] for s, row in zip(signs, rows, strict=True))
                for k in range(n_outputs)]  # fmt: skip
        square = sum(total * total for total in sums)
        assert int(found[q]) ** 2 <= square < (int(found[q]) + 1) ** 2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([10, 2**30, 2**55]))
def test_lengths_are_exact_and_rounded_down(seed, n_outputs, size):
    sums = np.random.default_rng(seed).integers(-size, size, (3, 4, n_outputs))
    for row, length in zip(sums.reshape(-1, n_outputs).tolist(), lengths(sums).ravel().tolist(),
                           strict=True):  # fmt: skip
        assert length**2 <= sum(total * total for total in row) < (length + 1) ** 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 3, 16, 4096]), st.sampled_from([0.1, 0.37, 1.0]))
def test_one_record_changes_no_utility_by_more_than_the_grid(seed, grid, part):
    """All records of a small table, one taken out at a time, whatever their scores and the clip."""
    rng = np.random.default_rng(seed)
    loss = IntegerLoss(Softmax(3), 2, grid, part * 0.8, 0.0)
    n = 6
    block = Block(
        np.asfortranarray(rng.integers(0, 4, (n, 2)).astype(np.uint8)),
        rng.integers(0, 3, n).astype(np.int32),
        None,
        rng.normal(0, 5, (3, n)).astype(np.float32),
    )
    questions, statistic = questions_of(rng, 2, 30), GradientHistograms(2, loss)
    whole = total_of(statistic, block)
    utilities = contrasts(questions, whole[..., 0])
    for i in range(n):
        less = whole - total_of(statistic, block.rows(slice(i, i + 1)))
        assert np.abs(contrasts(questions, less[..., 0]) - utilities).max() <= grid
    trees = ObliviousTrees(
        rng.integers(0, 2, (30, 2)).astype(np.int32), rng.random((30, 2, 256)) < 0.5,
        np.full(30, 2, np.int32),
    )  # fmt: skip
    whole = total_of(GradientSums(trees, loss), block)[..., 0]
    for i in range(n):
        one = total_of(GradientSums(trees, loss), block.rows(slice(i, i + 1)))[..., 0]
        change = lengths(whole).sum(axis=1) - lengths(whole - one).sum(axis=1)
        assert np.abs(change).max() <= grid


def test_a_record_can_change_a_utility_by_nearly_all_of_the_grid():
    """The claim is not idle: wrong by far, a record has the full norm."""
    block = Block(np.zeros((1, 1), np.uint8, order="F"), np.zeros(1, np.int32), None,
                  np.full((1, 1), 30.0, np.float32))  # fmt: skip
    one = total_of(GradientHistograms(1, LOSS), block)[..., 0]
    (utility,) = contrasts(questions_of(np.random.default_rng(0), 1, 1), one)
    assert 1020 <= utility <= 1024
    trees = draw_candidates(chosen_levels=1, candidate_trees=1)
    assert 1020 <= lengths(total_of(GradientSums(trees, LOSS), block)[..., 0]).sum() <= 1024


def test_rates_grow_with_the_price_and_shrink_with_the_sensitivity():
    for mu, reach in itertools.product((1e-4, 0.01, 1.0, 9.0), (1, 7, 4096 * 60)):
        rate = rate_for(Gaussian(mu), reach)
        assert mu * 0.999 < BoundedRange(rate, reach).loss.mu <= mu
    assert rate_for(Gaussian(math.inf), 3) == rate_for(Pure(math.inf), 3) == math.inf

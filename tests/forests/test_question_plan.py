"""Where questions are chosen, and how often."""

import math
from fractions import Fraction

import pytest

from dpforest.forests.plan import Asked, Purse, on_grid, plan_boosting
from dpforest.forests.question_plan import NO_CHOICES, plan_questions
from dpforest.losses import Logistic, Softmax, Squared

BUDGETS = {"gaussian": Purse(1.0, 1e-6), "pure": Purse(1.0, 0.0), "none": Purse(math.inf, 1e-6)}


def test_questions_are_chosen_where_it_was_found_to_pay():
    gaussian, pure, none = BUDGETS["gaussian"], BUDGETS["pure"], BUDGETS["none"]
    assert plan_questions(gaussian, Squared(), 5_000.0, 12).n_choices > 0
    assert plan_questions(gaussian, Logistic(), 5_000.0, 20).n_choices > 0
    assert plan_questions(gaussian, Softmax(4), 5_000.0, 20).n_choices > 0
    assert plan_questions(none, Squared(), 5_000.0, 12).n_choices > 0
    assert plan_questions(none, Squared(), 5_000.0, 12).share == 0
    for facts in (
        (pure, Squared(), 5_000.0, 12),  # at Laplace prices
        (gaussian, Squared(), 5_000.0, 9),  # among few features chance finds the good ones
        (pure, Squared(), 1e6, 12),
        (gaussian, Squared(), 1e6, 9),
        (gaussian, Logistic(), 5_000.0, 19),
        (gaussian, Softmax(4), 5_000.0, 19),
    ):
        assert plan_questions(*facts) == NO_CHOICES


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Softmax(4)])
def test_large_tables_wait_for_a_sign_that_choices_are_needed(loss):
    questions = plan_questions(BUDGETS["gaussian"], loss, 1e6, 12)
    assert questions.wait
    assert questions.n_choices > 0
    assert questions.share > 0


@pytest.mark.parametrize("n_records", [5_000.0, 1e6])
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Softmax(4)])
def test_without_noise_choices_are_made_for_nothing(loss, n_records):
    questions = plan_questions(BUDGETS["none"], loss, n_records, 3)
    assert questions.n_choices > 0
    assert questions.share == 0
    assert not questions.wait


@pytest.mark.parametrize("asked", [{}, {"n_trees": 3, "trees_per_round": 1}, {"n_trees": 1}])
def test_there_are_never_more_choices_than_rounds(asked):
    purse, share = BUDGETS["gaussian"], Fraction(9, 10)
    loss = on_grid(Squared(), purse, purse.price(share), steps=1)
    questions = plan_questions(purse, Squared(), 5_000.0, 12)
    made = questions.joined_to(plan_boosting(purse, share, loss, 5_000.0, 12, True, Asked(**asked)))
    rounds = -(-made.n_trees // made.trees_per_round)
    assert made.n_choices == min(questions.n_choices, rounds)

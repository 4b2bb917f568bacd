"""Where questions are chosen, and how often."""

import math
from fractions import Fraction

import pytest

from dpforest.forests.plan import Asked, on_grid, plan_boosting
from dpforest.forests.purse import Purse
from dpforest.forests.question_plan import NO_CHOICES, plan_questions
from dpforest.losses import Logistic, Softmax, Squared

BUDGETS = {"gaussian": Purse(1.0, 1e-6), "pure": Purse(1.0, 0.0), "none": Purse(math.inf, 1e-6)}


def test_questions_are_chosen_where_it_was_found_to_pay():
    gaussian, pure, none = BUDGETS["gaussian"], BUDGETS["pure"], BUDGETS["none"]
    for any_numeric in (True, False):
        for facts in (
            (gaussian, Squared(), 5_000.0, 12),
            (gaussian, Logistic(), 5_000.0, 20),
            (gaussian, Softmax(4), 5_000.0, 20),
            (none, Squared(), 5_000.0, 12),
        ):
            questions = plan_questions(*facts, any_numeric)
            assert questions.n_choices > 0
            assert questions.candidate_trees == 0
    assert plan_questions(none, Squared(), 5_000.0, 12, True).share == 0
    for facts in (
        (pure, Squared(), 5_000.0, 12),  # at Laplace prices
        (gaussian, Squared(), 5_000.0, 9),  # among few features chance finds the good ones
        (pure, Squared(), 1e6, 12),
        (gaussian, Squared(), 1e6, 9),
        (gaussian, Logistic(), 5_000.0, 9),
        (gaussian, Softmax(4), 5_000.0, 9),
    ):
        assert plan_questions(*facts, True) == NO_CHOICES


def test_choices_are_tried_for_a_few_classes_of_some_features_and_enough_signal():
    gaussian, pure = BUDGETS["gaussian"], BUDGETS["pure"]
    for loss in (Logistic(), Softmax(9)):
        for n_features in (10, 19):
            questions = plan_questions(gaussian, loss, 5_000.0, n_features, True)
            assert 0 < questions.n_trial < questions.n_choices
            assert questions.share > 0
        for facts in (
            (gaussian, loss, 5_000.0, 9, True),
            (gaussian, loss, 500.0, 10, True),  # bins are dear as it is
            (pure, loss, 5_000.0, 10, True),
        ):
            assert plan_questions(*facts) == NO_CHOICES
        assert plan_questions(gaussian, loss, 5_000.0, 20, True).n_trial == 0
        assert plan_questions(gaussian, loss, 1e6, 12, True).n_trial == 0
    for n_classes in (10, 26):  # few questions cannot tell them apart
        assert plan_questions(gaussian, Softmax(n_classes), 5_000.0, 12, True) == NO_CHOICES
    assert plan_questions(gaussian, Squared(), 5_000.0, 12, True).n_trial == 0


def test_whole_trees_are_chosen_for_classes_of_few_categories_and_enough_signal():
    gaussian, pure = BUDGETS["gaussian"], BUDGETS["pure"]
    for loss in (Logistic(), Softmax(4)):
        questions = plan_questions(gaussian, loss, 5_000.0, 8, False)
        assert questions.n_choices > 0
        assert questions.candidate_trees > 100
        assert plan_questions(gaussian, loss, 50_000.0, 8, False).candidate_trees == 100
        for facts in (
            (gaussian, loss, 5_000.0, 8, True),
            (gaussian, loss, 1_000.0, 8, False),
            (gaussian, loss, 200_000.0, 8, False),
            (gaussian, loss, 5_000.0, 1, False),
            (pure, loss, 5_000.0, 8, False),
            (gaussian, Squared(), 5_000.0, 8, False),
        ):
            assert plan_questions(*facts) == NO_CHOICES


@pytest.mark.parametrize(("depth", "levels"), [(2, 2), (6, 4)])
def test_a_tree_that_is_chosen_has_no_more_levels_than_the_first_ones(depth, levels):
    purse, loss = BUDGETS["gaussian"], Softmax(4)
    on = on_grid(loss, purse, purse.price(Fraction(1)), steps=1)
    plan = plan_boosting(purse, Fraction(1), on, 5_000.0, 8, False, Asked(depth=depth))
    made = plan_questions(purse, loss, 5_000.0, 8, False).joined_to(plan)
    assert (made.chosen_levels, made.choice_clip) == (levels, 0.7)


def test_the_clip_of_single_choices_follows_the_doubt_of_several_classes():
    """At twice the share that the Hessians have of the largest ones, whatever the records."""
    purse = BUDGETS["gaussian"]
    for n_records in (5_000.0, 50_000.0):
        for loss in (Softmax(3), Softmax(8)):
            questions = plan_questions(purse, loss, n_records, 24, True)
            doubt = questions.clip_per_hessian * n_records * loss.largest_hessian
            assert doubt == pytest.approx(2.0)
        for loss in (Squared(), Logistic()):
            assert plan_questions(purse, loss, n_records, 24, True).clip_per_hessian == 0.0
    assert plan_questions(purse, Softmax(4), 5_000.0, 8, False).clip_per_hessian == 0.0


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Softmax(4)])
def test_large_tables_wait_for_a_sign_that_choices_are_needed(loss):
    questions = plan_questions(BUDGETS["gaussian"], loss, 1e6, 12, True)
    assert questions.wait
    assert questions.n_choices > 0
    assert questions.share > 0


@pytest.mark.parametrize("n_records", [5_000.0, 1e6])
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Softmax(4)])
def test_without_noise_choices_are_made_for_nothing(loss, n_records):
    questions = plan_questions(BUDGETS["none"], loss, n_records, 3, True)
    assert questions.n_choices > 0
    assert questions.share == 0
    assert not questions.wait


@pytest.mark.parametrize("asked", [{}, {"n_trees": 3, "trees_per_round": 1}, {"n_trees": 1}])
def test_there_are_never_more_choices_than_rounds(asked):
    purse, share = BUDGETS["gaussian"], Fraction(9, 10)
    loss = on_grid(Squared(), purse, purse.price(share), steps=1)
    questions = plan_questions(purse, Squared(), 5_000.0, 12, True)
    made = questions.joined_to(plan_boosting(purse, share, loss, 5_000.0, 12, True, Asked(**asked)))
    rounds = -(-made.n_trees // made.trees_per_round)
    assert made.n_choices == min(questions.n_choices, rounds)

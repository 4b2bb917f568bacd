"""How the budget is shared out and the shape follows from public facts: rules, not constants."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.forests.boosting import leaf_values
from dpforest.forests.plan import Asked, on_grid, plan_boosting
from dpforest.forests.purse import Purse
from dpforest.losses import Logistic, Pinball, Softmax, Squared
from dpforest.losses.base import MOST_NOISE
from dpforest.privacy.accounts.accounting import gaussian_epsilon, mu_for
from dpforest.privacy.accounts.spends import Gaussian
from dpforest.privacy.gradients import GradientRelease
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.records import gradient_kernels as kernels
from dpforest.trees.oblivious import MAX_DEPTH

BUDGETS = {"gaussian": Purse(1.0, 1e-6), "pure": Purse(1.0, 0.0), "none": Purse(math.inf, 1e-6)}


def make_plan(purse, n_records=10_000.0, n_features=10, share=Fraction(9, 10), **asked):
    loss = on_grid(Logistic(), purse, purse.price(share), steps=1)
    return plan_boosting(purse, share, loss, n_records, n_features, True, Asked(**asked))


# The loss


LOSSES = [Logistic(), Softmax(3), Softmax(10), Squared(), Pinball((0.1, 0.5))]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("plain", LOSSES, ids=repr)
def test_the_norm_fits_the_noise_and_the_grid_fits_its_word(plain, budget):
    purse = BUDGETS[budget]
    loss = on_grid(plain, purse, purse.price(Fraction(1), among=100), steps=1)
    assert loss.norm == (1 if purse.pure else 2)
    assert loss.n_outputs == plain.n_outputs
    assert loss.grid * kernels.WIDE_BLOCK < 1 << (kernels.HESSIAN_BITS - 1)
    assert math.isfinite(loss.bound)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 1e3), st.sampled_from([0.0, 1e-6]), st.integers(1, 40))
def test_tiny_budgets_get_a_grid_that_the_sampler_can_serve(epsilon, delta, steps):
    purse = Purse(epsilon, delta)
    price = purse.price(Fraction(1), among=400)
    loss = on_grid(Logistic(), purse, price, steps)
    reach = loss.grid * steps
    noise = AdditiveNoise.for_price(price, l1=reach, l2=float(reach))
    assert noise.deviation > 0
    assert loss.grid >= 1


def test_gradients_are_clipped_near_the_norm_at_the_start():
    """More is noise for nothing; much less would lose who is told well from who is not."""
    for n_classes, purse in itertools.product((2, 3, 7), (BUDGETS["gaussian"], BUDGETS["pure"])):
        plain = Logistic() if n_classes == 2 else Softmax(n_classes)
        loss = on_grid(plain, purse, purse.price(Fraction(1)), steps=1)
        gradient = [-(1 - 1 / n_classes)] + [1 / n_classes] * (n_classes - 1)
        if n_classes == 2:
            gradient = [0.5]
        norm = sum(map(abs, gradient)) if purse.pure else math.hypot(*gradient)
        assert 0.7 * norm * (1 - 1e-12) <= loss.clip <= norm * (1 + 1e-12)


# The shape


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_the_user_asks_for_is_what_comes(budget):
    asked = {"n_trees": 7, "trees_per_round": 3, "depth": 2, "learning_rate": 0.25}
    shape = make_plan(BUDGETS[budget], **asked)
    for name, value in asked.items():
        assert getattr(shape, name) == value
    assert make_plan(BUDGETS[budget], n_trees=2, trees_per_round=5).trees_per_round == 2


@settings(max_examples=100, deadline=None)
@given(
    st.floats(0.01, 100),
    st.sampled_from([0.0, 1e-6]),
    st.floats(10, 1e8),
    st.integers(1, 500),
)
def test_every_plan_can_be_carried_out(epsilon, delta, n_records, n_features):
    shape = make_plan(Purse(epsilon, delta), n_records, n_features)
    assert 1 <= shape.trees_per_round <= shape.n_trees
    assert 1 <= shape.depth <= MAX_DEPTH
    assert 0 < shape.learning_rate < math.inf
    assert 0 < shape.damping < math.inf


def total_step(shape):
    """Rounds times learning rate: how far the model goes."""
    return math.ceil(shape.n_trees / shape.trees_per_round) * shape.learning_rate


RISING = [10.0 ** (k / 4) for k in range(4, 33)]


@pytest.mark.parametrize("budget", ["gaussian", "pure"])
def test_more_records_never_ask_for_less(budget):
    purse = BUDGETS[budget]
    plans = [make_plan(purse, n) for n in RISING]
    for one, more in itertools.pairwise(plans):
        assert one.depth <= more.depth
        assert total_step(one) <= total_step(more) * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_more_budget_never_asks_for_less(delta):
    purses = [Purse(2.0**k, delta) for k in range(-7, 6)]
    plans = [make_plan(purse) for purse in purses]
    for one, more in itertools.pairwise(plans):
        assert one.depth <= more.depth
        # Less noise needs less damping.
        assert one.damping >= more.damping


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("steps", [2, 20])
def test_many_records_between_neighbors_make_a_budget_worth_so_much_less(delta, steps):
    """All noise is so many times larger: the shape is that of so much less a budget."""
    alone, several = Purse(1.0, delta), Purse(1.0, delta, steps)
    weak = 1.0 / steps if delta == 0 else gaussian_epsilon(mu_for(1.0, delta) / steps, delta)
    for n in (300.0, 3_000.0, 30_000.0, 300_000.0):
        shape, less = make_plan(several, n), make_plan(Purse(weak, delta), n)
        fields = "n_trees", "trees_per_round", "depth", "learning_rate", "damping"
        for field in fields:
            assert getattr(shape, field) == pytest.approx(getattr(less, field), rel=1e-6)
        assert several.strength * steps == pytest.approx(alone.strength)
    assert several.price(Fraction(1)) == alone.price(Fraction(1))


@pytest.mark.parametrize("n_trees", [None, 100])
def test_noise_moves_no_score_far_where_no_records_are(n_trees):
    """However far two classes go: what trees add there is their noise over the damping."""
    share, rng = Fraction(9, 10), np.random.default_rng(0)
    for n in RISING:
        shape, purse = make_plan(BUDGETS["gaussian"], n, n_trees=n_trees), BUDGETS["gaussian"]
        deviation = 0.5 * math.sqrt(shape.n_trees) / (purse.total * math.sqrt(share))
        noise = rng.normal(0, deviation, (shape.n_trees, 1, 400))
        release = GradientRelease(noise.swapaxes(1, 2), np.zeros((shape.n_trees, 400)), deviation)
        rounds = shape.n_trees / shape.trees_per_round
        moved = rounds * leaf_values(release, shape).sum(axis=0)
        assert moved.std() < 1.1 * MOST_NOISE
    assert moved.std() > 0.7 * MOST_NOISE or n_trees


def test_more_features_ask_for_coarser_trees():
    purse = BUDGETS["gaussian"]
    widths = (2, 5, 20, 80, 300)
    for few, many in itertools.pairwise(widths):
        assert make_plan(purse, n_features=few).depth >= make_plan(purse, n_features=many).depth


def test_rounds_are_small_enough_for_the_way_to_be_gone():
    """A step of a round has a bound; with much signal more rounds of fewer trees go further."""
    for loss, expected in ((Softmax(7), {5, 3}), (Squared(), {5, 3, 2})):
        on = [on_grid(loss, BUDGETS["gaussian"], Gaussian(1.0), 1) for _ in RISING]
        facts = [
            (BUDGETS["gaussian"], Fraction(1), one, n, 10, True, Asked())
            for one, n in zip(on, RISING, strict=True)
            if n < 1e6
        ]
        plans = [plan_boosting(*fact) for fact in facts]
        sizes = [plan.trees_per_round for plan in plans]
        assert sizes == sorted(sizes, reverse=True)
        assert set(sizes) == expected
        assert all(
            one <= more * (1 + 1e-9) for one, more in itertools.pairwise(map(total_step, plans))
        )


def test_more_budget_does_not_lead_a_model_of_numbers_further_than_its_records_carry():
    """What chance shows grows with the way, and no budget makes it less: only records do."""
    for n in (100.0, 3_000.0, 100_000.0):
        steps = []
        for epsilon in (0.1, 1.0, 4.0, 100.0):
            purse = Purse(epsilon, 1e-6)
            loss = on_grid(Squared(), purse, purse.price(Fraction(1)), steps=1)
            plan = plan_boosting(purse, Fraction(1), loss, n, 10, True, Asked())
            steps.append(total_step(plan))
        assert steps == sorted(steps)
        assert steps[-1] <= 2.2 * math.sqrt(n) * (1 + 1e-9)


def test_without_noise_many_classes_go_further_and_numbers_go_by_small_rounds():
    purse, plans = BUDGETS["none"], {}
    for loss in (Logistic(), Softmax(26), Squared()):
        on = on_grid(loss, purse, purse.price(Fraction(1)), steps=1)
        plans[loss] = plan_boosting(purse, Fraction(1), on, 16_000.0, 16, True, Asked())
    classes, many, numbers = plans.values()
    assert total_step(many) > 1.5 * total_step(classes)
    assert total_step(numbers) == pytest.approx(total_step(classes))
    assert numbers.together
    assert numbers.trees_per_round < classes.trees_per_round


@pytest.mark.parametrize("loss", [Logistic(), Softmax(4), Squared()])
def test_what_goes_together_is_learnt_under_gaussian_noise_by_classes_with_signal_enough(loss):
    def together(purse, n_records, any_numeric=True):
        on = on_grid(loss, purse, purse.price(Fraction(1)), steps=1)
        facts = n_records, 10, any_numeric
        return plan_boosting(purse, Fraction(1), on, *facts, Asked()).together

    assert together(BUDGETS["gaussian"], 10_000.0)
    assert together(BUDGETS["gaussian"], 10_000.0, False) == isinstance(loss, Squared)
    assert together(BUDGETS["gaussian"], 500.0) == isinstance(loss, Squared)
    assert not together(BUDGETS["pure"], 1e6)
    assert together(BUDGETS["none"], 10_000.0) == isinstance(loss, Squared)

"""Sums of gradients: noise for the grid and the steps, a spend a tree, and sums that are right."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.losses import IntegerLoss, Logistic
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Gaussian, Pure
from dpforest.privacy.desk import Desk
from dpforest.privacy.gradients import gradient_sums, gradients_by_score, linear_sums
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.records.local import LocalStore
from dpforest.schema import NumericFeature, Schema
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame
from dpforest.trees.linear import LinearDesign
from dpforest.trees.oblivious_grower import ObliviousGrower

N = 300
ENCODING = Encoding.from_schema(
    Schema((NumericFeature("a", 0, 1), NumericFeature("b", 0, 1))), max_bins=4
)
LOSSES = {
    "pure": IntegerLoss(Logistic(), 1, 1024, 0.5, 0.2),
    "gaussian": IntegerLoss(Logistic(), 2, 1024, 0.5, 0.37),
}
PRICES = {"pure": Pure(Fraction(1, 10)), "gaussian": Gaussian(0.05)}


def draw_trees(n_trees=5):
    weights = (np.ones(3), np.ones(3))
    rng = np.random.default_rng(0)
    grower = ObliviousGrower(ENCODING.feature_bins, weights, rng, learnt=0.0, focus=1.0)
    return grower.draw(n_trees, 2)


def real_desk(epsilon=math.inf):
    X = np.random.default_rng(5).random((N, 2))
    store = LocalStore(Frame(X), (X[:, 0] > 0.3).astype(np.int32))
    store.encode(ENCODING, by_feature=True)
    store.start_scores(1)
    return Desk(store, Ledger(epsilon, 1e-6, Protection()), Draws(0))


@pytest.mark.parametrize("kind", PRICES)
def test_noise_is_for_the_grid_times_the_steps(recorded_desk, protected, paid_before_read, kind):
    protection, steps = protected
    loss = LOSSES[kind]
    desk = recorded_desk(protection)
    desk.encode(ENCODING, by_feature=True)
    desk.log.clear()
    release = gradient_sums(desk, draw_trees(), loss, PRICES[kind], "trees")
    ((what, made),) = desk.draws.laws
    assert what == "noise"
    assert made.sensitivity == 1024 * steps
    if kind == "pure":
        assert made.scale == 1024 * steps * 10
        width = float(made.scale) * math.sqrt(2)
    else:
        width = math.sqrt(made.sigma2)
        assert width == pytest.approx(1024 * steps / 0.05, rel=1e-4)
        assert width * 0.05 >= 1024 * steps * (1 - 1e-9)
    assert release.deviation == pytest.approx(width / loss.gradient_unit, rel=1e-3)
    assert desk.made() == [made]
    branch = desk.ledger.entries[-1]
    assert (branch.rule, branch.times) == ("sequential", 5)
    paid_before_read(desk)


@pytest.mark.parametrize("kind", PRICES)
def test_noise_by_score_is_for_the_grid_times_the_steps(
    recorded_desk, protected, paid_before_read, kind
):
    protection, steps = protected
    desk = recorded_desk(protection)
    desk.encode(ENCODING, by_feature=True)
    desk.log.clear()
    gradients_by_score(desk, (-1.0, 0.0, 1.0), LOSSES[kind], PRICES[kind], "by score")
    ((_, made),) = desk.draws.laws
    assert made.sensitivity == 1024 * steps
    assert desk.made() == [made]
    paid_before_read(desk)


@pytest.mark.parametrize("kind", PRICES)
def test_a_loss_bounded_in_the_other_norm_is_refused_before_anything_is_spent(recorded_desk, kind):
    desk = recorded_desk()
    other = LOSSES["gaussian" if kind == "pure" else "pure"]
    with pytest.raises(ValueError, match="bounded in L2, a pure one in L1"):
        gradient_sums(desk, draw_trees(), other, PRICES[kind], "trees")
    with pytest.raises(ValueError, match="bounded in L2, a pure one in L1"):
        gradients_by_score(desk, (0.0,), other, PRICES[kind], "by score")
    assert desk.log == []


@pytest.mark.parametrize("kind", PRICES)
def test_released_sums_are_exact_but_for_the_noise(kind):
    """Draws of 2,000 noisy cells: mean and deviation within 5 standard errors, fixed seeds."""
    trees, loss = draw_trees(500), LOSSES[kind]
    exact = gradient_sums(real_desk(), trees, loss, Pure(math.inf), "trees")
    noisy = gradient_sums(real_desk(), trees, loss, PRICES[kind], "trees")
    noise = (noisy.gradients - exact.gradients).ravel()
    assert exact.deviation == 0
    assert abs(noise.mean()) < 5 * noisy.deviation / math.sqrt(noise.size)
    assert noise.std() == pytest.approx(noisy.deviation, rel=5 * math.sqrt(5 / 4 / noise.size))
    hessian_noise = (noisy.hessians - exact.hessians).ravel()
    in_units = noisy.deviation * loss.gradient_unit / loss.hessian_unit
    assert hessian_noise.std() == pytest.approx(in_units, rel=5 * math.sqrt(5 / 4 / noise.size))


def test_without_noise_the_sums_are_plain_facts():
    desk = real_desk()
    release = gradient_sums(desk, draw_trees(), LOSSES["gaussian"], Pure(math.inf), "trees")
    # At score 0 every Hessian is a quarter, cut off to the grid.
    assert release.hessians.sum(axis=1) == pytest.approx(N / 4, rel=1e-2)
    assert desk.ledger.guarantee is None


def test_rounds_of_one_model_are_one_line_of_the_ledger():
    desk = real_desk(5.0)
    for _ in range(4):
        gradient_sums(desk, draw_trees(), LOSSES["gaussian"], PRICES["gaussian"], "trees")
    (branch,) = desk.ledger.entries
    assert branch.times == 20
    assert branch.cost().mu == pytest.approx(0.05 * math.sqrt(20), rel=1e-6)


DESIGN = LinearDesign.of_bins(
    ENCODING.feature_bins, (np.full(4, 0.25), np.full(4, 0.25)), ENCODING.middles, by_value=0.7
)
LINEAR = IntegerLoss(Logistic(), 2, 1024, 0.5, 0.0)


def test_linear_noise_is_for_the_grid_times_the_steps(recorded_desk, protected, paid_before_read):
    protection, steps = protected
    desk = recorded_desk(protection)
    desk.encode(ENCODING, by_feature=True)
    desk.log.clear()
    sums = linear_sums(desk, DESIGN, LINEAR, Gaussian(0.05), "linear start")
    assert sums.shape == (1, 3)
    ((what, made),) = desk.draws.laws
    assert what == "noise"
    assert made.sensitivity == 1024 * steps
    assert math.sqrt(made.sigma2) * 0.05 >= 1024 * steps * (1 - 1e-9)
    assert desk.made() == [made]
    paid_before_read(desk)


def test_a_linear_model_has_no_pure_price(recorded_desk):
    desk = recorded_desk()
    with pytest.raises(ValueError, match="Gaussian"):
        linear_sums(desk, DESIGN, LINEAR, Pure(Fraction(1, 10)), "linear start")
    assert desk.log == []

"""What noise leaves in the weights of a linear start: as if its steps were followed one by one."""

import numpy as np
import pytest

from dpforest import NumericFeature, PrivateForestClassifier, Schema, Target
from dpforest.report.descent_noise import DescentNoise
from dpforest.report.noise_runs import RUNS, Chance
from dpforest.trees.linear import LinearDesign

MOMENTUM, DEVIATION, HESSIAN = 0.5, 7.0, 300.0
SIZE = np.array([-1.0, -0.5, 0.5, 1.0])
SHARES = np.full(4, 0.25)


def design_of_one():
    """A constant, and one feature of four bins."""
    place, size = np.zeros((1, 256), np.int32), np.zeros((1, 256))
    place[0], size[0, :4] = 1, SIZE
    return LinearDesign(place, size, 1.0, 2)


def followed(n_steps, rate, curvature):
    """Of the averaged weight: what a unit of noise in each step adds to it."""
    parts = np.zeros(n_steps)
    for step in range(n_steps):
        weight = speed = 0.0
        later = []
        for at in range(n_steps):
            speed = MOMENTUM * speed - rate * (curvature * weight + (at == step))
            weight += speed
            later += [weight] if 2 * at >= n_steps else []
        parts[step] = np.mean(later)
    return parts


def spread_of(noise, chance):
    """The deviation of the feature's weight, and what takes it back."""
    weights = noise.weights(design_of_one(), (SHARES,), HESSIAN, chance)
    assert weights.shape == (RUNS, 2)
    curvature = HESSIAN * float(SHARES @ SIZE**2)
    return weights[:, 1].std(), curvature


@pytest.mark.parametrize("n_steps", [4, 8, 16, 32])
@pytest.mark.parametrize("heard", [0.05, 0.3, 1.0])
def test_noise_is_left_as_if_steps_were_followed(n_steps, heard):
    rate = 1.0 / HESSIAN
    noise = DescentNoise.of_steps(n_steps, rate, MOMENTUM, DEVIATION)
    found, curvature = spread_of(noise, Chance(0.0, answered=heard))
    expected = DEVIATION * np.linalg.norm(followed(n_steps, rate, heard * curvature))
    assert 0.75 < found / expected < 1.25
    # Chance is in the gradient of every step alike.
    noise = DescentNoise.of_steps(n_steps, rate, MOMENTUM, 0.0)
    found, curvature = spread_of(noise, Chance(0.5, answered=heard))
    expected = abs(followed(n_steps, rate, heard * curvature).sum()) * np.sqrt(0.5 * curvature)
    assert 0.75 < found / expected < 1.25


def test_runs_of_a_single_weight_differ_in_size():
    """Were all as far from 0, anything a little farther would stand out of them."""
    noise = DescentNoise(1.0, 0.0)
    squares = noise.weights(design_of_one(), (SHARES,), HESSIAN, Chance(1.0))[:, 1] ** 2
    assert squares.mean() == pytest.approx(1.0)
    assert squares.std() > 1.0


def test_what_multiplies_scores_multiplies_noise_and_nothing_else():
    noise = DescentNoise.of_steps(8, 0.01, MOMENTUM, DEVIATION)
    plain, times = (
        each.weights(design_of_one(), (SHARES,), HESSIAN, Chance(1.0))
        for each in (noise, noise.multiplied(0.5).multiplied(4.0))
    )
    np.testing.assert_allclose(times, 2.0 * plain)


def test_a_choice_has_no_noise():
    assert DescentNoise(0.0, 0.0).multiplied(3.0).is_none
    assert not DescentNoise.of_steps(2, 0.1, MOMENTUM, DEVIATION).is_none


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_random_labels_spread_as_runs_of_noise_do(n_classes):
    """24 fits: 144 weights of each class, whose mean square is right to a sixth."""
    features = tuple(NumericFeature(f"x{j}", 0, 1) for j in range(6))
    schema = Schema(features, Target(classes=tuple(range(n_classes))))
    released, runs = [], []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        X, y = rng.random((500, 6)), rng.integers(0, n_classes, 500)
        model = PrivateForestClassifier(schema=schema, n_estimators=1, random_state=seed).fit(X, y)
        for forest, spreads in ((model.forest_, released), (model.noise_forest(), runs)):
            tree_values = forest.values[:6].astype(float)
            for j, shares in enumerate(model.released_shares):
                moves = tree_values[j, :, : len(shares)]
                spreads.append((moves - (moves @ shares)[:, None]) ** 2 @ shares)
    assert 0.6 < np.mean(np.concatenate(runs)) / np.mean(np.concatenate(released)) < 1.6

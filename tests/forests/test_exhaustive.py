"""A proof by enumeration: a whole small forest, every pair of neighbours in a small world.

The forest is the real estimator; only the final draw is replaced by a recorder, so that the exact
distribution of what it would have released can be computed from what it was given. The leaves
choose their labels independently, so the worst log ratio of two releases is a sum over leaves.
"""

import itertools
import math

import numpy as np
import pytest

from dpforest import CategoricalFeature, RandomDecisionForestClassifier, Schema, Target
from dpforest.privacy.mechanisms import selection

EPSILON = 0.7
SLACK = 1e-9  # the probabilities are computed in floating point
SCHEMA = Schema(
    (CategoricalFeature("a", (0, 1)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
)
RECORDS = tuple(itertools.product((0, 1), repeat=3))
WORLDS = [
    world
    for size in range(1, 5)
    for world in itertools.combinations_with_replacement(RECORDS, size)
]


@pytest.fixture
def recorder(monkeypatch):
    """Keeps what the desk hands to permute-and-flip."""
    calls = []

    def record(utilities, *, epsilon, sensitivity, monotone, bits):
        calls.append((utilities.copy(), epsilon, sensitivity, monotone))
        return np.zeros(len(utilities), np.int64)

    monkeypatch.setattr(selection, "permute_and_flip", record)
    return calls


def release_of(world, recorder, *, groups=None, noise_divided_by=1, **settings):
    """Log probabilities of the labels, leaf by leaf, of the forest trained on a world."""
    table = np.array(world)
    forest = RandomDecisionForestClassifier(
        epsilon=EPSILON, schema=SCHEMA, n_estimators=2, max_depth=2, leaves="label",
        random_state=3, **settings,
    )  # fmt: skip
    recorder.clear()
    forest.fit(table[:, :2], table[:, 2], groups=groups)
    ((utilities, epsilon, sensitivity, monotone),) = recorder
    assert forest.ledger_.epsilon == EPSILON
    return np.log(
        selection.permute_and_flip_probabilities(
            utilities,
            epsilon=epsilon * noise_divided_by,
            sensitivity=sensitivity,
            monotone=monotone,
        )
    )


def worst_loss(one, other):
    """The largest log ratio, either way, over all releases."""
    difference = one - other
    return max(difference.max(axis=1).sum(), (-difference).max(axis=1).sum())


def added_neighbours(releases):
    for world, release in releases.items():
        for record in RECORDS:
            larger = tuple(sorted((*world, record)))
            if larger in releases:
                yield release, releases[larger]


def replaced_neighbours(releases):
    for world, release in releases.items():
        for i, record in itertools.product(range(len(world)), RECORDS):
            other = tuple(sorted((*world[:i], *world[i + 1 :], record)))
            yield release, releases[other]


@pytest.mark.parametrize("sampling", ["shared", "disjoint"])
def test_adding_a_record_costs_at_most_epsilon(recorder, sampling):
    if sampling == "disjoint":
        # One tree: with several, which record is dealt where is part of the secret draw.
        settings = {"sampling": "disjoint"}
        releases = {w: release_of_one_tree(w, recorder, **settings) for w in WORLDS}
    else:
        releases = {w: release_of(w, recorder) for w in WORLDS}
    losses = [worst_loss(a, b) for a, b in added_neighbours(releases)]
    assert max(losses) <= EPSILON + SLACK
    assert max(losses) > 0.9 * EPSILON  # and the claim is not far from tight


def release_of_one_tree(world, recorder, **settings):
    table = np.array(world)
    recorder.clear()
    RandomDecisionForestClassifier(
        epsilon=EPSILON, schema=SCHEMA, n_estimators=1, max_depth=2, leaves="label",
        random_state=3, **settings,
    ).fit(table[:, :2], table[:, 2])  # fmt: skip
    ((utilities, epsilon, sensitivity, monotone),) = recorder
    return np.log(
        selection.permute_and_flip_probabilities(
            utilities, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )
    )


def test_replacing_a_record_costs_at_most_epsilon(recorder):
    releases = {w: release_of(w, recorder, neighbors="replace_one") for w in WORLDS}
    worst = max(worst_loss(a, b) for a, b in replaced_neighbours(releases))
    assert 0.9 * EPSILON < worst <= EPSILON + SLACK


def test_control_half_the_noise_is_caught(recorder):
    releases = {w: release_of(w, recorder, noise_divided_by=2) for w in WORLDS}
    assert max(worst_loss(a, b) for a, b in added_neighbours(releases)) > 1.5 * EPSILON


def test_control_add_remove_noise_does_not_cover_replacement(recorder):
    releases = {w: release_of(w, recorder) for w in WORLDS}
    assert max(worst_loss(a, b) for a, b in replaced_neighbours(releases)) > EPSILON + SLACK


PEOPLE = [
    person
    for size in range(1, 4)
    for person in itertools.combinations_with_replacement(RECORDS, size)
]
BASES = [world for world in WORLDS if len(world) == 1]


def person_losses(recorder, protected):
    """What the arrival of one person with up to three records can reveal."""
    for base in BASES:
        without = _person_release(base, (), recorder, protected)
        for person in PEOPLE:
            yield worst_loss(without, _person_release(base, person, recorder, protected))


def _person_release(base, person, recorder, protected):
    if not protected:
        return release_of((*base, *person), recorder)
    groups = [*range(len(base)), *[99] * len(person)]
    return release_of((*base, *person), recorder, groups=groups, max_records_per_group=3)


def test_adding_a_person_costs_at_most_epsilon(recorder):
    assert 0.9 * EPSILON < max(person_losses(recorder, protected=True)) <= EPSILON + SLACK


def test_control_without_groups_a_person_costs_more(recorder):
    assert max(person_losses(recorder, protected=False)) > 1.5 * EPSILON


def test_a_person_keeps_no_more_records_than_declared(recorder):
    world = [(0, 0, 0)] * 9
    groups = ["anna"] * 7 + ["ben"] * 2
    release_of(world, recorder, groups=groups, max_records_per_group=3)
    ((utilities, *_),) = recorder
    assert utilities.sum() == 2 * (3 + 2)  # two trees see three of anna's and both of ben's


def test_infinite_epsilon_makes_no_claim():
    forest = RandomDecisionForestClassifier(epsilon=math.inf, schema=SCHEMA)
    forest.fit(np.array([[0, 1], [1, 0]]), [0, 1])
    assert forest.ledger_.guarantee is None
    assert forest.ledger_.epsilon == math.inf

"""The short audit of every public estimator, and estimators of ours that are broken on purpose."""

import itertools
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from dpforest import PrivateForestClassifier, RandomDecisionForestClassifier
from dpforest.audit import SMALL_SCHEMA, audit, public_estimators, small_estimators, worst_pairs
from dpforest.audit.games import EstimatorGame
from dpforest.privacy.accounts.mechanisms_used import DiscreteGaussian
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.randomness import RandomBits

SETTINGS = list(itertools.product((1.0, 4.0, 0.1), ("add_remove", "replace_one")))


def versions():
    """Each small version at one setting, in turn; the long audit has them all at every setting."""
    labels = [label for label, _ in small_estimators()]
    for i, label in enumerate(labels):
        epsilon, neighbors = SETTINGS[i % len(SETTINGS)]
        estimator = dict(small_estimators(epsilon=epsilon, neighbors=neighbors))[label]
        yield pytest.param(estimator, id=f"{label}, {epsilon:g}, {neighbors}")


ALL = list(versions())
ALONE = worst_pairs(SMALL_SCHEMA, Protection())[:1]


@pytest.mark.parametrize("estimator", ALL)
def test_no_false_alarm(estimator):
    # An error of 0.001 each, with fixed seeds. The long audit is `make audit`.
    report = audit(estimator, trials=400, random_state=0)
    assert not report.leaks, str(report)
    assert report.claim.epsilon == pytest.approx(estimator.epsilon)


def test_every_public_estimator_is_audited():
    assert {*public_estimators()} == {type(param.values[0]).__name__ for param in ALL}
    assert {"PrivateForestClassifier", "RandomDecisionForestClassifier"} <= {*public_estimators()}


def forest(**options):
    settings = {"n_estimators": 1, "max_depth": 1, "schema": SMALL_SCHEMA, **options}
    return RandomDecisionForestClassifier(epsilon=1.0, **settings)


def with_noise_divided_by(factor):
    """Let releases carry less noise than the ledger says."""
    right = AdditiveNoise.added_to

    def wrong(noise, totals, bits):
        made = noise.made
        if isinstance(made, DiscreteGaussian):
            less = replace(made, sigma2=made.sigma2 / factor**2)
        else:
            less = replace(made, scale=made.scale / factor)
        return right(AdditiveNoise(less), totals, bits)

    return patch.object(AdditiveNoise, "added_to", wrong)


def test_a_report_on_a_model_with_a_seed_says_that_it_is_not_for_release():
    """The audit's own seed fixes the structure and is another matter."""
    for seed, fitted in ((0, False), (0, True), (None, False), (None, True)):
        model = forest(random_state=seed, n_hint=5)
        if fitted:
            model.fit(ALONE[0].one.X, ALONE[0].one.y).set_params(random_state=None)
        report = audit(model, pairs=ALONE, trials=400, random_state=0)
        assert report.claim.releasable == (seed is None)
        assert ("not for release" in str(report)) == (seed is not None)


def test_control_half_the_noise_in_a_forest_is_caught():
    with with_noise_divided_by(2):
        report = audit(forest(), pairs=ALONE, trials=1600, random_state=0)
    assert report.leaks
    assert 1.0 < report.epsilon_bound <= 2.0


def test_control_half_the_noise_in_the_flagship_is_caught():
    # With so many records all is spent on the tree, and few fits see through its noise.
    estimator = PrivateForestClassifier(
        epsilon=4.0, schema=SMALL_SCHEMA, n_estimators=1, max_depth=1, n_hint=3000
    )
    with with_noise_divided_by(2):
        report = audit(estimator, pairs=ALONE, trials=4000, random_state=0)
    assert report.leaks
    assert report.mu_bound > report.claimed_mu


def test_the_right_noise_is_nearly_seen_through():
    report = audit(forest(), pairs=ALONE, trials=2000, random_state=0)
    assert 0.4 < report.epsilon_bound <= 1.0


def test_a_schema_from_the_data_is_caught():
    report = audit(RandomDecisionForestClassifier(epsilon=1.0, n_estimators=1), trials=600)
    assert report.claim.epsilon == 1.0
    assert report.leaks


def test_persons_are_audited_as_persons():
    report = audit(forest(max_records_per_group=3), trials=800, random_state=0)
    assert "one person (at most 3 records each)" in str(report)
    assert not report.leaks


def test_control_a_smaller_claim_is_refuted():
    assert audit(forest(), epsilon=0.2, pairs=ALONE, trials=1200, random_state=0).leaks


def test_a_model_is_left_as_it_is():
    estimator = forest()
    audit(estimator, trials=400)
    assert not hasattr(estimator, "ledger_")
    assert estimator.random_state is None


def test_progress_counts_the_fits():
    done = []
    audit(forest(), trials=400, progress=done.append)
    assert 0 < sum(done) <= 400


@pytest.mark.parametrize("wrong", [{"trials": 10}, {"confidence": 1.0}])
def test_bad_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        audit(forest(), **wrong)


def test_the_report_draws_itself(tmp_path):
    report = audit(forest(), trials=400, random_state=0)
    report.plot(tmp_path / "scores.png")
    assert (tmp_path / "scores.png").stat().st_size > 1000


def test_trials_do_not_build_on_each_other():
    game = EstimatorGame(
        PrivateForestClassifier(schema=SMALL_SCHEMA, n_estimators=1, max_depth=1, n_hint=5)
    )
    rows, names = game.release(game.pairs[0], 0, 5, RandomBits(0), lambda _: None)
    assert not np.isnan(rows).any()
    values = rows[:, [i for i, name in enumerate(names) if name.startswith("values[")]]
    assert len(np.unique(values, axis=0)) == 5

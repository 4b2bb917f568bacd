"""The best of K trials is kept, exactly, and nothing else is seen."""

import itertools
import math

import numpy as np
import pytest

from dpforest import PrivateSearchCV, RandomDecisionForestClassifier
from dpforest.audit import SMALL_SCHEMA
from dpforest.audit.shown import Shown
from dpforest.exceptions import BudgetExceededError
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.privacy.mechanisms.draws import Draws
from dpforest.search.trials import Chosen, Trials

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.random(200), RNG.integers(0, 2, 200)])
Y = (X[:, 0] > 0.5).astype(int)
FOREST = RandomDecisionForestClassifier(schema=SMALL_SCHEMA, n_estimators=1, max_depth=1)
GRID = [{"max_depth": d, "n_estimators": n} for d in (1, 2) for n in (1, 2)]


class Scripted(Draws):
    """A given number of trials."""

    def __init__(self, n_trials, seed=0):
        super().__init__(seed)
        self._n_trials = n_trials

    def number_of_trials(self, law):
        return self._n_trials


def fitted(n_trials, monkeypatch=None, trial=None, **options):
    search = PrivateSearchCV(FOREST, GRID, random_state=0, **options)
    search._draws = Scripted(n_trials)
    if trial is not None:
        monkeypatch.setattr(Trials, "trial", trial)
    return search.fit(X, Y)


def test_whole_searches_in_a_small_world_lose_what_is_claimed_and_no_more(monkeypatch):
    """Every outcome of every trial of up to seven, on two neighbours: the law of what is kept."""
    epsilon, law, most = 0.8, Stopping(1, 2), 7
    high = 1 / (1 + math.exp(-epsilon))
    # Ranks 0 (rest), 1 (a sliver), 2 (highest), as bad as randomised response can be.
    sliver = 1e-3
    one = np.array([high * (1 - sliver), high * sliver, 1 - high])
    other = np.array([(1 - high) * (1 - sliver), (1 - high) * sliver, high])
    outcomes = iter(())
    monkeypatch.setattr(
        Trials, "trial", lambda self, index: Chosen(index, None, np.array([next(outcomes), 0.0]))
    )
    loss_of_one = np.abs(np.log(one / other)).max()
    laws = np.zeros((2, 3))
    trials = Trials.__new__(Trials)
    object.__setattr__(trials, "candidates", GRID)
    object.__setattr__(trials, "parts", type("Parts", (), {"draws": Draws(0)}))
    for n_trials in range(1, most + 1):
        chance = 0.5**n_trials / (1 - 0.5**most)
        for ranks in itertools.product(range(3), repeat=n_trials):
            outcomes = iter(ranks)
            best = int(trials._best_of_trials(n_trials).rank)
            for which, trial in enumerate((one, other)):
                laws[which, best] += chance * math.prod(trial[list(ranks)])
    assert laws.sum(axis=1) == pytest.approx([1, 1])
    loss = np.abs(np.log(laws[0] / laws[1])).max()
    claim = law.pure_epsilon(loss_of_one)
    assert loss <= claim
    assert loss > 0.97 * claim
    assert loss > 1.5 * loss_of_one  # one trial does not pay for it


def test_the_first_of_equals_and_the_best_of_others_is_kept(monkeypatch):
    ranks = iter([3.0, 7.0, 7.0, 5.0])

    def trial(self, index):
        return Chosen(index, f"model {next(ranks)}", np.array([float(index), 0.0]))

    draws = iter([1, 3, 3, 0])
    monkeypatch.setattr(Scripted, "apart", lambda self, m: next(draws))
    found = fitted(4, monkeypatch, trial)
    assert (found.best_index_, found.best_estimator_) == (3, "model 7.0")


def test_what_is_shown_does_not_tell_how_many_were_tried(monkeypatch):
    """The same best trial among few and among many others."""
    honest = Trials.trial
    first = {}

    def trial(self, index):
        if "best" not in first:
            found = honest(self, 2)
            first["best"] = Chosen(2, found.model, np.array([1000.0, 0.0]))
        return first["best"]

    shown = []
    for n_trials in (1, 25):
        search = fitted(n_trials, monkeypatch, trial)
        parts = Shown.of(search.best_estimator_, **_seen(search)).parts
        shown.append((parts, search.ledger_.explain(), search.ledger_.entries))
    assert shown[0] == shown[1]


def _seen(search):
    return {
        name: value
        for name, value in vars(search).items()
        if name.endswith("_") and name not in ("best_estimator_", "ledger_", "plan_")
    }


def test_control_a_ledger_that_counts_trials_is_seen(monkeypatch):
    honest = Trials._best_of_trials

    def counting(self, n_trials):
        self.ledger.note(f"{n_trials} trials")
        return honest(self, n_trials)

    monkeypatch.setattr(Trials, "_best_of_trials", counting)
    assert fitted(1).ledger_.explain() != fitted(3).ledger_.explain()


def test_everything_is_debited_before_the_first_trial(monkeypatch):
    honest = Trials.run

    def run(self):
        assert self.ledger.entries == (self.plan.entry,)
        return honest(self)

    monkeypatch.setattr(Trials, "run", run)
    assert fitted(2).ledger_.epsilon == 1


def test_models_that_were_not_chosen_are_gone(monkeypatch):
    import gc
    import weakref

    trained = []
    honest = Trials.trial

    def trial(self, index):
        found = honest(self, index)
        trained.append(weakref.ref(found.model))
        return found

    search = fitted(8, monkeypatch, trial)
    gc.collect()
    alive = [ref() for ref in trained if ref() is not None]
    assert len(trained) == 8
    assert alive == [search.best_estimator_]


def test_a_trial_that_fails_or_warns_tells_nothing_of_itself(monkeypatch, recwarn, capsys):
    import warnings

    honest = Trials.trial
    made = []

    def trial(self, index):
        warnings.warn("a trial of private matters", RuntimeWarning, stacklevel=1)
        made.append(index)
        if len(made) < 3:
            raise ValueError("private matters")
        return honest(self, index)

    search = fitted(4, monkeypatch, trial)
    assert len(made) == 4
    assert search.best_estimator_.predict(X).shape == Y.shape
    assert not recwarn.list
    assert "private" not in "".join(capsys.readouterr())


def test_when_all_trials_fail_what_was_paid_stays_spent(monkeypatch):
    def trial(self, index):
        raise ValueError

    search = PrivateSearchCV(FOREST, GRID, random_state=0)
    search._draws = Scripted(3)
    monkeypatch.setattr(Trials, "trial", trial)
    with (
        pytest.warns(RuntimeWarning, match="had spent epsilon = 1"),
        pytest.raises(RuntimeError, match="no candidate could be trained"),
    ):
        search.fit(X, Y)
    assert search.ledger_.stages[-1].kind == "failed fit"
    monkeypatch.undo()
    search.fit(X, Y)
    assert search.ledger_.epsilon == 2


def test_a_training_that_would_cost_more_than_its_cap_is_stopped(monkeypatch):
    search = PrivateSearchCV(FOREST, GRID, random_state=0, method="permute_and_flip")
    honest = Trials._train

    def greedy(self, index):
        self.estimator.set_params(epsilon=1.0)
        object.__setattr__(self.plan, "epsilon", 2 * self.plan.epsilon)
        return honest(self, index)

    monkeypatch.setattr(Trials, "_train", greedy)
    with (
        pytest.warns(RuntimeWarning, match="had spent"),
        pytest.raises(BudgetExceededError, match="a trial"),
    ):
        search.fit(X, Y)

"""Trials: train a candidate within its cap, and see how it does on the hold-out part."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest.forests.base import PrivateEstimator
from dpforest.privacy.accounts.caps import Cap
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Cost
from dpforest.privacy.hold_out import choose_candidate, noisy_marks
from dpforest.privacy.search_opening import Parts
from dpforest.progress import Bar
from dpforest.search.plan import SearchPlan


@dataclass(frozen=True)
class Chosen:
    """What a search releases.

    Parameters
    ----------
    index : int
        Of the candidate.
    model : PrivateEstimator
        Trained.
    marks : ndarray or None
        Noisy sums of its marks and of what is missing to the best ones, where they were released.
    """

    index: int
    model: PrivateEstimator
    marks: NDArray[np.float64] | None = None

    @property
    def rank(self) -> float:
        """What trials are compared by: of one price, the difference has the least noise."""
        return -np.inf if self.marks is None else float(self.marks[0] - self.marks[1])

    @property
    def score(self) -> float | None:
        """The noisy mean of the marks."""
        if self.marks is None:
            return None
        good, missing = self.marks
        return float(np.clip(good / max(good + missing, 1.0), 0.0, 1.0))


@dataclass(frozen=True)
class Trials:
    """All that trials have in common.

    Parameters
    ----------
    estimator : PrivateEstimator
    candidates : list of dict
    plan : SearchPlan
    parts : Parts
    ledger : Ledger
        Of the search; it has debited everything before the first trial.
    structure : numpy Generator or None
        Where seeds of public structure come from, for tests.
    """

    estimator: PrivateEstimator
    candidates: list[dict[str, Any]]
    plan: SearchPlan
    parts: Parts
    ledger: Ledger
    structure: np.random.Generator | None = None

    def run(self) -> Chosen:
        """Choose; whatever is not chosen is forgotten, and nothing is told of it."""
        # Neither bars nor warnings of trials: they would tell how many there are, and of others.
        with Bar("searching", alone=True) as bar, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.plan.stopping is not None:
                return self._best_of_trials(self.parts.draws.number_of_trials(self.plan.stopping))
            bar.expect(len(self.candidates))
            return self._best_of_all(bar)

    def _best_of_trials(self, n_trials: int) -> Chosen:
        best: Chosen | None = None
        failure: Exception | None = None
        for _ in range(n_trials):
            index = self.parts.draws.apart(len(self.candidates))
            try:
                trial = self.trial(index)
            except Exception as error:  # an outcome like others, of the lowest rank
                failure = error
                continue
            if best is None or trial.rank > best.rank:
                best = trial
        if best is None:
            raise RuntimeError("no candidate could be trained: see the error above") from failure
        return best

    def trial(self, index: int) -> Chosen:
        """Train a candidate and pay for its marks."""
        model = self._train(index)
        desk = self.parts.desk(model, self._account(self.plan.entry.parts[1].cost()))
        return Chosen(index, model, noisy_marks(desk, self.plan.choosing).values)

    def _best_of_all(self, bar: Bar) -> Chosen:
        models = []
        for index in range(len(self.candidates)):
            models.append(self._train(index))
            bar.advance()
        account = self._account(self.plan.entry.parts[1].cost())
        desks = [self.parts.desk(model, account) for model in models]
        chosen = choose_candidate(desks, Fraction(self.plan.entry.epsilon))
        return Chosen(chosen, models[chosen])

    def _train(self, index: int) -> PrivateEstimator:
        model: PrivateEstimator = clone(self.estimator)
        model.set_params(**self.candidates[index], epsilon=self.plan.epsilon, verbose=False)
        if "delta" in model.get_params(deep=False):
            model.set_params(delta=self.plan.delta)
        if self.structure is not None:
            model.set_params(random_state=int(self.structure.integers(2**31)))
        model._draws, model._cap = self.parts.draws, Cap(self.plan.most)
        X, y, groups = self.parts.training
        model.fit(X, y, **({} if groups is None else {"groups": groups}))
        del model._draws, model._cap
        model.set_params(random_state=None)
        # The model is an outcome of the whole search, and so is its guarantee.
        model.ledger_ = self.ledger
        return model

    def _account(self, most: Cost) -> Ledger:
        """An account of one question on the hold-out part, within what is paid for it."""
        stage = self.ledger.stages[-1]
        ledger = Ledger(
            stage.budget_epsilon, stage.budget_delta, stage.protection, stage.reproducible_noise
        )
        return Cap(most).begin(ledger)

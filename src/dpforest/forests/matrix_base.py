"""What the two matrix forests share: parameters, plan, ensembles and strategies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from dpforest.arrays import Values
from dpforest.forests import parameters as checks
from dpforest.forests.base import PrivateEstimator
from dpforest.forests.classifier import PrivateClassifier
from dpforest.forests.declared import fitted, one_of, parameter
from dpforest.forests.matrix_plan import Facts, Plan, make_plan
from dpforest.forests.parameters import Auto
from dpforest.privacy.accounts.prices import price_of_share
from dpforest.privacy.accounts.spends import Amount, Gaussian, Price, exact
from dpforest.privacy.desk import Desk
from dpforest.privacy.workloads import STRATEGIES, Answers, StrategyChoice, choose_strategies
from dpforest.tables.folded import FoldedEncoding
from dpforest.trees.ensembles import Ensemble, grow_ensembles, join_forests
from dpforest.trees.structure import Forest
from dpforest.trees.votes import (
    Prior,
    lean_to_prior,
    log_shares,
    mean_shares,
    normalise,
    pooled_prior,
)
from dpforest.trees.workloads import Paths, Rows, Workload

MatrixVoting = Literal["log_odds", "weighted", "hard"]
VOTING: tuple[str, ...] = get_args(MatrixVoting)

ALL_OF_IT = Fraction(1)


class MatrixForest(PrivateClassifier, PrivateEstimator):
    """Base of the classifier and the predictor."""

    delta: float = parameter(default=0.0, check=checks.delta)
    n_estimators: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    max_depth: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    n_ensembles: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    features_per_ensemble: int | Auto = parameter(default="auto", check=checks.count_or_auto())
    strategy: str = one_of("auto", *STRATEGIES, default="auto")
    voting: MatrixVoting = one_of(*VOTING, default="log_odds")
    max_bins: int = parameter(default=5, check=checks.count(low=2))

    plan_: Plan = fitted()
    ensembles_: list[Ensemble] = fitted()
    forest_: Forest = fitted()
    choices_: list[StrategyChoice] = fitted()

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if "auto" not in (self.n_ensembles, self.n_estimators):
            _refuse_empty_ensembles(int(self.n_ensembles), int(self.n_estimators))

    def _encode(self, desk: Desk) -> None:
        self.encoding_ = FoldedEncoding.from_schema(self.schema_, max_bins=self.max_bins)
        desk.encode(self.encoding_)

    def _grow(self, plan: Plan, rng: np.random.Generator) -> None:
        _refuse_empty_ensembles(plan.n_ensembles, plan.n_trees)
        self.plan_ = plan
        self.ensembles_ = grow_ensembles(
            self.encoding_.feature_bins,
            n_trees=plan.n_trees,
            max_depth=plan.max_depth,
            n_ensembles=plan.n_ensembles,
            n_features=plan.n_features,
            rng=rng,
        )
        self.forest_ = join_forests([ensemble.forest for ensemble in self.ensembles_])

    def _plan(self, epsilon: float, n_records: float | None) -> Plan:
        """The shape, from public facts and, where there is one, a number of records."""
        price = price_each(exact(epsilon), self.delta, 1)
        return make_plan(
            Facts(
                self.encoding_.feature_bins,
                *_count_noise(price, self.ledger_.protection.steps),
                n_records=n_records,
                alike=self._alike(),
                varied=self.voting == "hard" and self._alike() == 1,
            ),
            n_trees=self.n_estimators,
            max_depth=self.max_depth,
            n_ensembles=self.n_ensembles,
            n_features=self.features_per_ensemble,
        )

    def _alike(self) -> int:
        """Trees of an ensemble that are all alike: one of them will do."""
        return 1

    def _domain(self, ensemble: Ensemble) -> tuple[int, ...]:
        return tuple(int(self.encoding_.n_bins[j]) for j in ensemble.features)

    def _choose(self, desk: Desk, workloads: list[Workload], price: Price) -> list[StrategyChoice]:
        """The best strategy for each ensemble, the ensembles in parallel."""
        return choose_strategies(desk, workloads, price, self.strategy, self.n_jobs)

    def _named(self, choices: list[StrategyChoice]) -> list[str]:
        """What the ledger calls the question to each ensemble."""
        q = len(choices)
        return [
            f"ensemble {i + 1} of {q}, {e.forest.n_trees} trees over {len(e.features)} features: "
            f"{choice.name} strategy"
            for i, (e, choice) in enumerate(zip(self.ensembles_, choices, strict=True))
        ]


def _count_noise(price: Price, steps: int) -> tuple[float, Literal[1, 2]]:
    """The deviation of a count's noise at a price, and the order of its norm."""
    if isinstance(price, Gaussian):
        return steps / price.mu, 2
    return steps * math.sqrt(2) / float(price.epsilon), 1


def price_each(
    epsilon: Amount, delta: float, n_ensembles: int, share: Fraction = ALL_OF_IT
) -> Price:
    """What each ensemble has of a share: Laplace when delta is 0, Gaussian otherwise."""
    return price_of_share(epsilon, delta, share / n_ensembles)


def total_of(workload: Workload, choice: StrategyChoice) -> Workload | None:
    """All records as one query, where the strategy can answer it."""
    if choice.name == "laplace":
        return None
    if isinstance(workload, Rows):
        return Rows(sparse.csr_array(np.ones((1, workload.domain[0]))))
    return Paths(workload.domain, np.full((1, len(workload.domain)), -1))


def class_votes(values: Values, deviations: Values, prior: Prior | None, voting: str) -> Values:
    """What each leaf says: `log_shares`, its values, or one vote, shared by equals."""
    if voting == "log_odds":
        return log_shares(values, deviations, prior=prior)
    if voting == "weighted":
        return values
    largest = values == values.max(axis=1, keepdims=True)
    return np.asarray(largest / largest.sum(axis=1, keepdims=True))


def prior_of(answers: Sequence[Answers]) -> Prior | None:
    """The shares of the classes by the totals of all ensembles; None where one has no total."""
    totals = [a.total for a in answers if a.total is not None]
    if len(totals) < len(answers):
        return None
    return pooled_prior(
        np.concatenate([t.values for t in totals]), np.concatenate([t.deviations for t in totals])
    )


def pooled_log_odds(answers: Sequence[Answers], n_leaves: Sequence[int]) -> Values:
    """The votes of all ensembles together, as logarithms of shares; so many leaves vote in each."""
    prior = prior_of(answers)
    heard = [
        log_shares(a.values, a.deviations, n, prior) for a, n in zip(answers, n_leaves, strict=True)
    ]
    return np.asarray(np.sum(heard, axis=0))


def pooled_votes(answers: Sequence[Answers], totals: Sequence[Answers]) -> Values:
    """The votes of all ensembles together; they lean to the class totals, where there are any."""
    votes = np.asarray(np.sum([a.values for a in answers], axis=0))
    if not totals:
        return votes
    deviations = np.sqrt(np.sum([a.deviations**2 for a in answers], axis=0))
    shares = np.exp(log_shares(totals[0].values, totals[0].deviations)[0])
    return lean_to_prior(votes, deviations, shares)


def probabilities(votes: Values, voting: str, n_voters: int) -> Values:
    """Votes of so many leaves or ensembles as probabilities."""
    return mean_shares(votes, n_voters) if voting == "log_odds" else normalise(votes)


def _refuse_empty_ensembles(n_ensembles: int, n_trees: int) -> None:
    if n_ensembles > n_trees:
        raise ValueError(
            f"n_ensembles must be at most n_estimators, got {n_ensembles} and {n_trees}: every "
            "ensemble has a tree at least"
        )

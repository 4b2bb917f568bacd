"""What the two matrix forests share: parameters, plan, ensembles and strategies."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from threadpoolctl import threadpool_limits

from dpforest.forests.base import Neighbors, PrivateEstimator, Streams
from dpforest.forests.parameters import check_choice, check_count, check_count_or_auto
from dpforest.privacy.accounting import mu_for
from dpforest.privacy.additive import Price
from dpforest.privacy.curator import Curator
from dpforest.privacy.spends import Amount, Gaussian, Pure, exact
from dpforest.privacy.strategies import STRATEGIES, Choice, Workload, choose_strategy
from dpforest.records.tables import FoldedEncoding
from dpforest.records.threads import count_threads
from dpforest.schema import Schema
from dpforest.trees.ensembles import Ensemble, grow_ensembles, join_forests
from dpforest.trees.structure import FeatureBins
from dpforest.trees.votes import log_shares, mean_shares, normalise

Auto = Literal["auto"]
MatrixVoting = Literal["log_odds", "weighted", "hard"]
VOTING: tuple[str, ...] = get_args(MatrixVoting)

COUNT_SHARE = 0.02  # of epsilon, for the noisy number of records that "auto" needs
AUTO_TREES = 128  # more trees cost nothing here, but time
AUTO_CELLS = 1 << 17  # a domain that is quick to measure
RECORDS_A_SIGMA = 3.0  # records that a leaf should hold for each standard deviation of its noise


@dataclass(frozen=True)
class Plan:
    """The shape of a matrix forest."""

    n_trees: int
    max_depth: int
    n_ensembles: int
    n_features: int


class MatrixForest(ClassifierMixin, PrivateEstimator):
    """Base of the classifier and the predictor."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: Schema | dict[str, Any] | None = None,
        n_estimators: int | Auto = "auto",
        max_depth: int | Auto = "auto",
        n_ensembles: int | Auto = "auto",
        features_per_ensemble: int | Auto = "auto",
        n_hint: int | None = None,
        strategy: str = "auto",
        voting: MatrixVoting = "log_odds",
        max_bins: int = 5,
        neighbors: Neighbors = "add_remove",
        max_records_per_group: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.n_ensembles = n_ensembles
        self.features_per_ensemble = features_per_ensemble
        self.n_hint = n_hint
        self.strategy = strategy
        self.voting = voting
        self.max_bins = max_bins
        self.neighbors = neighbors
        self.max_records_per_group = max_records_per_group
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, groups: Any) -> None:
        self._check_shared_parameters(groups)
        for name in ("n_estimators", "max_depth", "n_ensembles", "features_per_ensemble"):
            check_count_or_auto(name, getattr(self, name))
        if "auto" not in (self.n_ensembles, self.n_estimators):
            _refuse_empty_ensembles(int(self.n_ensembles), int(self.n_estimators))
        if self.n_hint is not None:
            check_count("n_hint", self.n_hint)
        check_choice("voting", self.voting, VOTING)
        check_choice("strategy", self.strategy, ("auto", *STRATEGIES))
        check_count("max_bins", self.max_bins, low=2)

    def _prepare(self, X: Any, y: Any, groups: Any, streams: Streams) -> Curator:
        """Check everything, open the table and bin it; nothing is spent."""
        curator = self._open(X, y, groups, streams)
        self.classes_ = np.array(self.schema_.classes)
        self.encoding_ = FoldedEncoding.from_schema(self.schema_, max_bins=self.max_bins)
        curator.encode(self.encoding_)
        return curator

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

    def _count(self, curator: Curator) -> float:
        """The public guess of the number of records, or a noisy one that is paid for."""
        if self.n_hint is not None:
            return float(self.n_hint)
        return max(curator.count(Pure(exact(COUNT_SHARE) * exact(self.epsilon))), 1.0)

    def _plan(self, epsilon: float, n_records: float) -> Plan:
        """The shape, from public facts and, for an automatic depth, a number of records."""
        return make_plan(
            self.encoding_.feature_bins,
            epsilon=epsilon,
            n_records=n_records,
            n_trees=self.n_estimators,
            max_depth=self.max_depth,
            n_ensembles=self.n_ensembles,
            n_features=self.features_per_ensemble,
        )

    def _domain(self, ensemble: Ensemble) -> tuple[int, ...]:
        return tuple(int(self.encoding_.n_bins[j]) for j in ensemble.features)

    def _choose(self, workloads: list[Workload], price: Price) -> list[Choice]:
        """The best strategy for each ensemble, the ensembles in parallel."""
        among = None if self.strategy == "auto" else (self.strategy,)

        def choose(workload: Workload) -> Choice:
            return choose_strategy(workload, price, among)

        return _in_parallel(choose, workloads, self.n_jobs)

    def _named(self, choices: list[Choice]) -> list[str]:
        """What the ledger calls the question to each ensemble."""
        q = len(choices)
        return [
            f"ensemble {i + 1} of {q}, {e.forest.n_trees} trees over {len(e.features)} features: "
            f"{choice.name} strategy"
            for i, (e, choice) in enumerate(zip(self.ensembles_, choices, strict=True))
        ]


def price_each(epsilon: Amount, delta: float, n_ensembles: int) -> Price:
    """The share of each ensemble: Laplace when delta is 0, Gaussian otherwise."""
    if delta > 0 and not math.isinf(epsilon):
        return Gaussian(mu_for(float(epsilon), delta) / math.sqrt(n_ensembles))
    return Pure(epsilon if math.isinf(epsilon) else epsilon / n_ensembles)


def make_plan(
    bins: FeatureBins,
    *,
    epsilon: float,
    n_records: float,
    n_trees: int | Auto,
    max_depth: int | Auto,
    n_ensembles: int | Auto,
    n_features: int | Auto,
) -> Plan:
    """Choose what is left to ``"auto"``: the error formula needs no data, so the choice is free.

    - features: all of them when their domain has at most `AUTO_CELLS` cells, else as many as fit;
    - ensembles: one over all features, else enough that each feature is likely in one, at most 4;
    - depth: the largest at which a leaf holds `RECORDS_A_SIGMA` records for each standard
      deviation of its noise, by the error of the identity, which is never below that of the
      strategy chosen later;
    - trees: 128, since more trees do not add noise.
    """
    d = len(bins)
    sizes = bins.n_bins.astype(np.float64)
    mean_size = float(np.exp(np.log(sizes).mean()))
    fits = max(1, int(math.log(AUTO_CELLS) / math.log(max(mean_size, 1.5))))
    own = d if sizes.prod() <= AUTO_CELLS else fits
    own = min(d, own if n_features == "auto" else n_features)
    q = 1 if own == d else min(4, math.ceil(d / own))
    q = q if n_ensembles == "auto" else n_ensembles
    trees = max(AUTO_TREES, q) if n_trees == "auto" else n_trees
    depth = max_depth
    if depth == "auto":
        depth = _auto_depth(mean_size, own, n_records, epsilon / q)
    return Plan(trees, min(depth, own), q, own)


def _auto_depth(size: float, n_features: int, n_records: float, epsilon: float) -> int:
    depth = 1
    for candidate in range(1, n_features + 1):
        cells_a_leaf = size ** (n_features - candidate)
        sigma = math.sqrt(2 * cells_a_leaf) / epsilon
        if n_records / size**candidate >= RECORDS_A_SIGMA * sigma:
            depth = candidate
    return depth


def _in_parallel(
    work: Callable[[Workload], Choice], workloads: list[Workload], n_jobs: int | None
) -> list[Choice]:
    threads = min(count_threads(n_jobs), len(workloads))
    # The matrices are small: more threads inside a product would only wait for each other.
    with threadpool_limits(limits=1), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, workloads))


def class_votes(
    values: NDArray[np.float64], deviations: NDArray[np.float64], voting: str
) -> NDArray[np.float64]:
    """What each leaf says: `log_shares`, its values, or one vote, shared by equals."""
    if voting == "log_odds":
        return log_shares(values, deviations)
    if voting == "weighted":
        return values
    largest = values == values.max(axis=1, keepdims=True)
    return np.asarray(largest / largest.sum(axis=1, keepdims=True))


def probabilities(votes: NDArray[np.float64], voting: str, n_voters: int) -> NDArray[np.float64]:
    """Votes of so many leaves or ensembles as probabilities."""
    return mean_shares(votes, n_voters) if voting == "log_odds" else normalise(votes)


def _refuse_empty_ensembles(n_ensembles: int, n_trees: int) -> None:
    if n_ensembles > n_trees:
        raise ValueError(
            f"n_ensembles must be at most n_estimators, got {n_ensembles} and {n_trees}: every "
            "ensemble has a tree at least"
        )

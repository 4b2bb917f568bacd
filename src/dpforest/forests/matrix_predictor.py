"""Private prediction by matrix forests: batches of records are answered, no model is released."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpforest.exceptions import BudgetExceededError
from dpforest.forests import parameters as checks
from dpforest.forests.declared import fitted, one_of, parameter
from dpforest.forests.matrix_base import (
    ALL_OF_IT,
    MatrixForest,
    pooled_log_odds,
    pooled_votes,
    price_each,
    probabilities,
    total_of,
)
from dpforest.forests.matrix_plan import AUTO_VOTERS
from dpforest.privacy.accounts.budget_filter import most_of
from dpforest.privacy.accounts.reservation import Use, settle
from dpforest.privacy.accounts.spends import Cost, exact
from dpforest.privacy.desk import Desk
from dpforest.privacy.populations import Cells, OwnLeaves, Population
from dpforest.privacy.workloads import Question, answer_workloads, class_totals, one_by_one
from dpforest.schema import Schema
from dpforest.tables.routing import find_leaves
from dpforest.trees.ensembles import Ensemble
from dpforest.trees.workloads import Paths, Rows, Votes, Workload

Mode = Literal["batch", "subsample"]

PRIOR_SHARE = Fraction(1, 10)  # of a batch's epsilon, for the class totals that labels lean to

KEPT_IN_ONE_PLACE = (
    "a fitted MatrixForestPredictor holds the private records and their budget, so it is neither "
    "saved nor pickled nor copied, and answers in the process that trained it: keep it in one "
    "place, or train a MatrixForestClassifier to have a model"
)
_ONE_BATCH_AT_A_TIME = threading.RLock()


class MatrixForestPredictor(MatrixForest):
    """Answers batches of records privately; the trees themselves are never released.

    ``fit`` keeps the records and spends nothing. Each ``predict`` answers one batch and spends
    ``epsilon_per_batch``; the identical batch asked again gets the identical answer for free.
    When the budget is used up, `BudgetExceededError` is raised before anything is read.
    The fitted object holds the records: guard it like them.

    Parameters
    ----------
    epsilon : float, default=1.0
        The budget of all batches together.
    epsilon_per_batch : float, optional
        What one batch costs; by default all of epsilon goes to the first.
    delta : float, default=0.0
        Above 0, one batch may be answered, with Gaussian noise.
    mode : {"batch", "subsample"}, default="batch"
        ``"batch"``: all trees count all records, and the votes of the batch are one workload.
        ``"subsample"``: trees count disjoint records (subsample-and-aggregate).
    voting : {"log_odds", "weighted", "hard"}, default="log_odds"
        Leaves vote with their counts, and ensembles with the logarithms of the classes' shares in
        these votes (`dpforest.trees.votes.log_shares`); or all counts are added up
        (``"weighted"``); or each leaf votes once for its largest class (``"hard"``, for
        ``mode="subsample"`` only: where trees share records, one record can turn a leaf of each),
        and a tenth of the epsilon goes to class totals, to which noisy votes lean.
        With one ensemble the first two predict the same.
    strategy : str, default="auto"
        As in `MatrixForestClassifier`; ``"laplace"`` splits the budget over the queries of the
        batch (the baseline of the paper).
    n_estimators, max_depth, n_ensembles, features_per_ensemble, max_bins
        As in `MatrixForestClassifier`; ``max_depth="auto"`` needs ``n_hint`` here, as ``fit``
        spends nothing.
    schema, n_hint, neighbors, max_records_per_group, random_state, n_jobs, verbose, budget
        As in `PrivateEstimator`.

    Attributes
    ----------
    choices_ : list of StrategyChoice
        The strategies of the latest batch.
    ledger_ : Ledger
        What the batches so far have spent.
    plan_, ensembles_, forest_
        As in `MatrixForestClassifier`.
    classes_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateEstimator`.

    Examples
    --------
    >>> from dpforest import MatrixForestPredictor, datasets
    >>> census = datasets.make_census(2_000, random_state=0)
    >>> predictor = MatrixForestPredictor(
    ...     epsilon=2.0, epsilon_per_batch=1.0, schema=census.schema, max_depth=2,
    ...     features_per_ensemble=4, random_state=0,
    ... ).fit(census.X, census.y)
    >>> predictor.ledger_.epsilon
    0.0
    >>> answer = predictor.predict(census.X[:20])
    >>> predictor.ledger_.epsilon
    1.0
    >>> bool((answer == predictor.predict(census.X[:20])).all()), predictor.ledger_.epsilon
    (True, 1.0)
    """

    _keeps_records = True  # every batch asks them

    epsilon_per_batch: float | None = parameter(default=None, check=checks.optional(checks.epsilon))
    mode: Mode = one_of("batch", "subsample", default="batch")

    _desk: Desk = fitted()
    _answered: dict[bytes, NDArray[np.float64]] = fitted()
    _process: int = fitted()

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Keep the records and grow the trees; releases nothing, spends nothing."""
        self._encode(desk)
        plan = self._plan(self._batch_epsilon(), float(self.n_hint) if self.n_hint else None)
        self._grow(plan, rng)
        self._answered = {}
        self._desk = desk
        self._process = os.getpid()

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The noisy votes for each class; a batch that was answered before costs nothing."""
        bins = self._bins(X)
        batch = hashlib.sha256(np.ascontiguousarray(bins).tobytes()).digest()
        with _ONE_BATCH_AT_A_TIME:
            if batch not in self._answered:
                if os.getpid() != self._process:  # a fork is a copy that nobody asked for
                    raise TypeError(KEPT_IN_ONE_PLACE)
                self._answered[batch] = self._answer(bins)
                self._tell()
            return self._answered[batch].copy()

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes."""
        votes = self.votes(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The votes for each class, as probabilities; one batch, as for `predict`."""
        return probabilities(self.votes(X), self.voting, len(self.ensembles_))

    def workloads(self, X: Any) -> list[Workload]:
        """The votes for a batch as queries: Q T^T T over cells, or Q T^T over leaves."""
        return [self._workload(e, self._bins(X)) for e in self.ensembles_]

    def save(
        self, path: str | Path, *, overwrite: bool = False, table: str | None = None
    ) -> NoReturn:
        """Refuse: the predictor holds the records, and a copy could spend its budget twice."""
        raise TypeError(KEPT_IN_ONE_PLACE)

    def _explained(self) -> NoReturn:
        raise AttributeError("answers were released and no trees: train a MatrixForestClassifier")

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_desk"):
            raise TypeError(KEPT_IN_ONE_PLACE)
        state: dict[str, Any] = super().__getstate__()
        return state

    def _answer(self, bins: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Release the votes: everything that can fail without data comes before the debit."""
        epsilon = exact(self._batch_epsilon())
        if epsilon > self.ledger_.unspent_epsilon:
            raise BudgetExceededError(
                f"a batch costs epsilon = {float(epsilon):g}, but "
                f"{float(self.ledger_.stages[-1].epsilon):g} of {float(self.epsilon):g} is spent "
                "already. Nothing was read or released. Batches that were answered before are "
                "answered still"
            )
        # Labels know nothing of how frequent the classes are; the paper's baseline does without.
        pays_prior = self.voting == "hard" and self.strategy != "laplace"
        share = 1 - PRIOR_SHARE if pays_prior else ALL_OF_IT
        price = price_each(epsilon, self.delta, len(self.ensembles_), share)
        workloads = [self._workload(e, bins) for e in self.ensembles_]
        populations = [self._population(e) for e in self.ensembles_]
        if self.strategy == "laplace":
            choices = [one_by_one(w, p) for w, p in zip(workloads, populations, strict=True)]
        else:
            choices = self._choose(self._desk, workloads, price)
        questions = [
            Question(label, w, choice.strategy, population, total_of(w, choice))
            for label, w, choice, population in zip(
                self._named(choices), workloads, choices, populations, strict=True
            )
        ]
        if pays_prior:
            prior_price = price_each(epsilon, self.delta, 1, PRIOR_SHARE)
            questions.append(class_totals(self._n_bins(), prior_price))
        self.choices_ = choices
        with self._reserved():
            answers = answer_workloads(self._desk, questions, len(self.classes_), price)
        if self.voting == "log_odds":
            # Where trees share the records, a vote counts them once a tree.
            batch = self.mode == "batch"
            n_leaves = [e.forest.n_trees if batch else 1 for e in self.ensembles_]
            return pooled_log_odds(answers, n_leaves)
        return pooled_votes(answers[: len(choices)], answers[len(choices) :])

    def _use(self, schema: Schema) -> Use | None:
        """A fit reads the records and releases nothing, so it takes nothing of a shared budget."""
        use = super()._use(schema)
        return use and replace(use, most=Cost())

    @contextmanager
    def _reserved(self) -> Iterator[None]:
        """Every batch is a use of the shared budget, where there is one."""
        use = super()._use(self.schema_)
        if use is not None:
            asked = exact(self._batch_epsilon()), exact(self.delta, "delta")
            use = replace(use, what=f"{use.what}, a batch", asked=asked, most=most_of(*asked))
            self.ledger_ = self._desk.ledger = use.begin(self.ledger_)
        try:
            yield
        except BaseException:
            settle(self.ledger_, "failed")
            raise
        settle(self.ledger_, "released")

    def _workload(self, ensemble: Ensemble, bins: NDArray[np.uint8]) -> Workload:
        leaves = find_leaves(ensemble.forest, bins, self.n_jobs)
        b, n_trees = leaves.shape
        if self.mode == "subsample":
            rows = np.repeat(np.arange(b), n_trees)
            ones = np.ones(b * n_trees)
            shape = (b, ensemble.forest.n_leaves)
            return Rows(sparse.csr_array((ones, (rows, leaves.ravel())), shape=shape))
        paths = Paths(self._domain(ensemble), ensemble.leaf_cells)
        subsets, position = np.unique(paths.subsets, return_inverse=True)
        flat = (np.arange(b)[:, None] * len(subsets) + position[leaves]).ravel()
        weights = np.bincount(flat, minlength=b * len(subsets)).reshape(b, -1)
        records = bins[:, list(ensemble.features)].astype(np.int64)
        return Votes(paths.domain, records, subsets, weights.astype(np.float64))

    def _population(self, ensemble: Ensemble) -> Population:
        if self.mode == "subsample":
            return OwnLeaves(ensemble.forest, labels=self.voting == "hard")
        return Cells(ensemble.features, self._n_bins(), times=ensemble.forest.n_trees)

    def _n_bins(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.encoding_.n_bins)

    def _alike(self) -> int:
        """One vote is lost in the noise: many trees of a kind are needed where each has one."""
        return AUTO_VOTERS if self.voting == "hard" else 1

    def _batch_epsilon(self) -> float:
        return float(self.epsilon if self.epsilon_per_batch is None else self.epsilon_per_batch)

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.mode == "batch" and self.voting == "hard":
            raise ValueError(
                "voting='hard' needs mode='subsample': where trees share records, one record can "
                "turn the label of a leaf of every tree"
            )
        if self.epsilon_per_batch is not None:
            if self.epsilon_per_batch > self.epsilon:
                raise ValueError(
                    f"epsilon_per_batch must be at most epsilon, got {self.epsilon_per_batch!r} "
                    f"and {self.epsilon!r}"
                )
            if self.delta:
                raise ValueError(
                    "delta goes to one batch: leave epsilon_per_batch out, or use delta=0"
                )
        if self.max_depth == "auto" and self.n_hint is None:
            raise ValueError(
                "fit spends nothing, so max_depth='auto' needs n_hint, a public guess of the "
                "number of records: give one of the two"
            )

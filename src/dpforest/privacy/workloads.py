"""Workloads answered by the matrix mechanism: which strategy, at what price, with what noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dpforest.arrays import Integers
from dpforest.privacy.accounts.spends import Branch, Price
from dpforest.privacy.desk import Desk
from dpforest.privacy.mechanisms.additive import AdditiveNoise
from dpforest.privacy.mechanisms.strategies import STRATEGIES as STRATEGIES
from dpforest.privacy.mechanisms.strategies import (
    Direct,
    Identity,
    Strategy,
    answer_deviations,
    choose_strategy,
    measured,
    noise_for,
)
from dpforest.privacy.mechanisms.strategies import StrategyChoice as StrategyChoice
from dpforest.privacy.populations import Cells, Population
from dpforest.tables.threads import count_threads
from dpforest.trees.workloads import Paths, Workload


@dataclass(frozen=True)
class Question:
    """A workload, and the strategy to answer it with, about a population.

    Parameters
    ----------
    label : str
        For the ledger.
    workload : Workload
    strategy : Strategy
    population : Population
    total : Workload, optional
        One more query, answered from the same measurements: the records of all cells.
    price : Pure or Gaussian, optional
        When it is not the one that all questions have.
    """

    label: str
    workload: Workload
    strategy: Strategy
    population: Population
    total: Workload | None = None
    price: Price | None = None

    def answer(self, noisy: Integers, noise: AdditiveNoise) -> Answers:
        """From what was measured and released: post-processing."""
        total = None if self.total is None else replace(self, workload=self.total, total=None)
        values = self.strategy.answer(self.workload, noisy)
        deviations = answer_deviations(self.workload, self.strategy, noise)
        unit = self.population.unit
        return Answers(
            values / unit, deviations / unit, None if total is None else total.answer(noisy, noise)
        )


@dataclass(frozen=True)
class Answers:
    """What was released, and how far off it is expected to be.

    Parameters
    ----------
    values : ndarray, shape (n_queries, n_classes)
    deviations : ndarray, shape (n_queries,)
        The standard deviation of the noise; known before any record is read.
    total : Answers, optional
        What was asked beside.
    """

    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    total: Answers | None = None


def answer_workloads(
    desk: Desk, questions: Sequence[Question], n_classes: int, price: Price
) -> list[Answers]:
    """Answer workloads by the matrix mechanism, at the price for each of them or its own.

    The strategy A is an integer matrix fixed by public facts. One record changes the
    measurements by one column of A times its ``change`` over the classes, so discrete Laplace
    noise of scale steps * norm_1(A) * |change|_1 / epsilon makes them epsilon-DP, and discrete
    Gaussian noise mu-GDP with the L2 norms; the answers are post-processing of it. See
    `dpforest.privacy.mechanisms.strategies` for the proof. Questions about the same records
    compose sequentially; all are debited before any is measured.
    """
    noises = [
        noise_for(q.strategy, q.price or price, desk.steps, q.population.change) for q in questions
    ]
    spends = [n.spend(q.label, q.population.unit) for q, n in zip(questions, noises, strict=True)]
    label = f"{len(spends)} workloads by the matrix mechanism"
    desk.ledger.debit(spends[0] if len(spends) == 1 else Branch(label, "sequential", tuple(spends)))
    answers = []
    for q, noise in zip(questions, noises, strict=True):
        tables = q.population.tables(desk, n_classes, q.strategy.tables)
        noisy = desk.draws.add_noise(noise, measured(q.strategy, tables, n_classes))
        answers.append(q.answer(noisy, noise))
    return answers


def choose_strategies(
    desk: Desk, workloads: Sequence[Workload], price: Price, strategy: str, n_jobs: int | None
) -> list[StrategyChoice]:
    """The best strategy for each workload, or the best of one kind, in parallel; free."""
    among = None if strategy == "auto" else (strategy,)
    threads = min(count_threads(n_jobs), len(workloads))
    # The matrices are small: more threads inside a product would only wait for each other.
    with threadpool_limits(limits=1), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda w: choose_strategy(w, price, among, desk.steps), workloads))


def one_by_one(workload: Workload, population: Population) -> StrategyChoice:
    """A share of the budget for each query (the paper's baseline): a vote counts a record once.

    In every tree that sees it, that is: the L1 sensitivity of all queries together is at most their
    number times the trees that count a record.
    """
    strategy = Direct(workload, sensitivity=workload.n_queries * population.times)
    return StrategyChoice("laplace", strategy, math.nan, {})


def class_totals(n_bins: tuple[int, ...], price: Price) -> Question:
    """How many records each class has."""
    everyone = Paths((), np.zeros((1, 0), np.int64))
    return Question("class totals", everyone, Identity(()), Cells((), n_bins), price=price)

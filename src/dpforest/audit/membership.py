"""Membership inference: who was in the training data, told from the model's predictions.

The attack is the offline likelihood test in its simplest form: a model that is surer of a
person's true class than models trained on other people are is suspected to have seen that
person. The picture shows the share of members that are found against the share of strangers that
are accused, for an ordinary forest and for a private one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.audit.report import new_figure
from dpforest.datasets import make_census
from dpforest.forests.boosted import PrivateForestClassifier
from dpforest.schema import Schema
from dpforest.tables.encode import Encoding
from dpforest.tables.frames import Frame

FALSE_POSITIVES = 0.001
REFERENCES = 4
STRANGERS = 5  # for each member, so that one in a thousand can be told


class Scores(NamedTuple):
    """How suspicious members and strangers look."""

    members: Values
    strangers: Values


@dataclass(frozen=True)
class MembershipReport:
    """How well members are found, model by model.

    Parameters
    ----------
    scores : dict of str to Scores
    n_members : int
    """

    scores: dict[str, Scores]
    n_members: int

    def true_positives(self, model: str, false_positives: float = FALSE_POSITIVES) -> float:
        """The share of members found when this share of strangers is accused."""
        members, strangers = self.scores[model]
        threshold = np.quantile(strangers, 1.0 - false_positives, method="higher")
        return float(np.mean(members > threshold))

    def __str__(self) -> str:
        """A line for each model."""
        lines = [f"members found at {FALSE_POSITIVES:.1%} false accusations ({self.n_members:,}):"]
        width = max(map(len, self.scores))
        lines += [f"  {m:<{width}}  {self.true_positives(m):7.2%}" for m in self.scores]
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw both curves on logarithmic axes; needs matplotlib."""
        figure, axes = new_figure()
        rates = np.logspace(-3, 0, 61)
        for model in self.scores:
            found = [self.true_positives(model, rate) for rate in rates]
            axes.loglog(rates, np.maximum(found, 1e-4), label=model)
        axes.loglog(rates, rates, color="grey", linestyle=":", label="guessing")
        axes.set_xlabel("strangers accused")
        axes.set_ylabel("members found")
        axes.set_title("Who was in the training data?")
        axes.set_ylim(5e-4, 1.1)
        axes.legend()
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def membership_inference(
    *, epsilon: float = 1.0, n_members: int = 4_000, random_state: int = 0
) -> MembershipReport:
    """Attack scikit-learn's random forest and the private forest on a synthetic census.

    Parameters
    ----------
    epsilon : float
        Of the private forest.
    n_members : int
        People trained on; five times as many strangers are accused.
    random_state : int

    Returns
    -------
    MembershipReport
    """
    census = make_census(n_members * (1 + STRANGERS + REFERENCES), random_state=random_state)
    y = np.asarray(census.y)
    bins = Encoding.from_schema(census.schema).bins(Frame(census.X)).astype(np.float32)
    parts = np.arange(len(y)).reshape(-1, n_members)
    attack = _Attack(census.X, bins, y, parts, random_state)
    return MembershipReport(
        {
            "scikit-learn random forest": attack.ordinary(),
            f"PrivateForestClassifier, epsilon = {epsilon:g}": attack.private(
                census.schema, epsilon
            ),
        },
        n_members,
    )


class _Attack:
    """Members, strangers and people for references: rows of ``parts``, in this order."""

    def __init__(
        self,
        X: Any,
        bins: NDArray[np.float32],
        y: NDArray[Any],
        parts: NDArray[np.int64],
        seed: int,
    ) -> None:
        self._X, self._bins, self._y, self._parts, self._seed = X, bins, y, parts, seed

    def ordinary(self) -> Scores:
        """The attack on an ordinary forest."""
        from sklearn.ensemble import RandomForestClassifier  # slow to import, and for this alone

        def train(rows: NDArray[np.int64]) -> Values:
            forest = RandomForestClassifier(n_estimators=100, random_state=self._seed)
            forest.fit(self._bins[rows], self._y[rows])
            return self._sureness(forest, self._bins)

        return self._scores(train)

    def private(self, schema: Schema, epsilon: float) -> Scores:
        """The attack on the private forest."""

        def train(rows: NDArray[np.int64]) -> Values:
            forest = PrivateForestClassifier(
                epsilon=epsilon, schema=schema, random_state=self._seed
            )
            forest.fit(_rows(self._X, rows), self._y[rows])
            return self._sureness(forest, self._X)

        return self._scores(train)

    def _scores(self, train: Any) -> Scores:
        suspect = train(self._parts[0])
        ordinary = np.mean([train(rows) for rows in self._parts[-REFERENCES:]], axis=0)
        excess = suspect - ordinary
        return Scores(excess[self._parts[0]], excess[self._parts[1:-REFERENCES].ravel()])

    def _sureness(self, model: Any, X: Any) -> Values:
        """The probability that the model gives to everybody's true class."""
        column = np.searchsorted(np.sort(model.classes_), self._y)
        order = np.argsort(model.classes_)
        chances = model.predict_proba(X)
        return np.asarray(chances[np.arange(len(self._y)), order[column]], np.float64)


def _rows(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]

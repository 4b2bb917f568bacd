"""Matrix forests (Tajima, Wu, Houmansadr): noise for all leaves, or all votes, together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.forests.base import COUNT_SHARE
from dpforest.forests.binning import BinSizes, choose_bins, needs_bins
from dpforest.forests.declared import fitted, one_of
from dpforest.forests.files import named, of_group
from dpforest.forests.lazy import also_of_sources
from dpforest.forests.matrix_base import (
    MatrixForest,
    class_votes,
    price_each,
    prior_of,
    probabilities,
    total_of,
)
from dpforest.forests.matrix_plan import Plan
from dpforest.privacy.accounts.spends import Pure, exact
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import LeafQuestion, leaf_counts
from dpforest.privacy.populations import Cells
from dpforest.privacy.workloads import Answers, Question, answer_workloads
from dpforest.report.explained import Explained
from dpforest.report.law import Law
from dpforest.report.leaf_shares import noise_of_counts, shared_chance, shares_of_leaves
from dpforest.tables.folded import FoldedEncoding
from dpforest.tables.routing import add_leaf_values
from dpforest.trees.structure import Forest
from dpforest.trees.votes import Prior
from dpforest.trees.workloads import Paths, Workload

CUT_SHARE = Fraction(1, 10)  # of epsilon, for cuts that are paid for
CELLS_A_BIN = 8  # of the finer grid on which they are looked for


class MatrixForestClassifier(MatrixForest):
    """Random multi-way trees whose leaf counts are released together (DP batch training).

    The leaves of all trees are linear queries over one contingency table, so they share their
    noise by the matrix mechanism: more trees do not mean more noise. Everything but the noisy
    leaf counts follows from the schema.

    Parameters
    ----------
    epsilon, schema, n_hint, neighbors, max_records_per_group, random_state, n_jobs, verbose, budget
        As in `PrivateEstimator`.
    delta : float, default=0.0
        Above 0, the noise is Gaussian and calibrated to L2 norms.
    n_estimators, max_depth, n_ensembles, features_per_ensemble : int or "auto", default="auto"
        The shape: trees in all, their depth, ensembles, and the features of each. ``"auto"``
        follows `dpforest.forests.matrix_plan.make_plan`, from the error formula; the noisy count
        is paid for with ``max_depth="auto"`` only.
    strategy : str, default="auto"
        ``"auto"`` takes the least expected error; or ``"identity"``, ``"marginals"``,
        ``"kronecker"``, ``"p_identity"``, ``"mixture"``; or ``"laplace"``, plain Laplace noise on
        the leaves (the baseline "original" of the paper).
    sampling : {"shared", "disjoint"}, default="shared"
        ``"disjoint"`` deals the records out to the trees and adds Laplace noise to each (the
        baseline "disjoint" of the paper); it takes no strategy and no delta.
    voting : {"log_odds", "weighted", "hard"}, default="log_odds"
        A leaf votes with the logarithms of its classes' shares, which known noise draws together
        (`dpforest.trees.votes.log_shares`); with its counts; or once for its largest class, as in
        the paper.
    max_bins : int, default=5
        Bins of a numeric feature without declared cuts; few, as the table grows with each.
    cuts : {"schema", "quantiles"}, default="schema"
        Cut numeric features without declared cuts evenly, or pay a tenth of epsilon for cuts
        between bins of about equally many records.

    Attributes
    ----------
    leaf_values_ : ndarray of float64, shape (n_leaves, n_classes)
        What was released.
    leaf_deviations_ : ndarray of float64, shape (n_leaves,)
        The standard deviation of the noise in each leaf; public.
    prior_ : Prior or None
        The shares of the classes by what was released; None for the baselines.
    choices_ : list of StrategyChoice
        The strategy of each ensemble, with the expected errors of all that were considered.
    plan_, ensembles_, forest_
        The shape, the trees by ensemble, and all trees as one forest.
    classes_, ledger_, schema_, encoding_, n_features_in_, feature_names_in_
        As in `PrivateEstimator`.

    Examples
    --------
    The tennis example of the paper (Figure 1): two trees of depth 1, without noise.

    >>> import math
    >>> import numpy as np
    >>> from dpforest import CategoricalFeature, MatrixForestClassifier, Schema, Target
    >>> schema = Schema(
    ...     (
    ...         CategoricalFeature("outlook", ("sunny", "overcast", "rainy")),
    ...         CategoricalFeature("windy", ("false", "true")),
    ...     ),
    ...     Target(classes=("no", "yes")),
    ... )
    >>> X = [["sunny", "false"], ["sunny", "true"], ["overcast", "false"],
    ...      ["rainy", "false"], ["rainy", "false"], ["rainy", "true"]]
    >>> y = ["no", "no", "yes", "yes", "yes", "no"]
    >>> model = MatrixForestClassifier(
    ...     epsilon=math.inf, schema=schema, n_estimators=2, max_depth=1, voting="weighted",
    ...     random_state=2,
    ... ).fit(X, y)

    T, the ways to the leaves over the six cells of the domain; and C = T D, the leaf counts:

    >>> model.workloads()[0].matrix().toarray().astype(int)
    array([[1, 1, 0, 0, 0, 0],
           [0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 1, 1],
           [1, 0, 1, 0, 1, 0],
           [0, 1, 0, 1, 0, 1]])
    >>> model.leaf_values_.astype(int)
    array([[2, 0],
           [0, 1],
           [1, 2],
           [1, 3],
           [2, 0]])

    V, the weighted votes for three queries:

    >>> model.votes([["sunny", "true"], ["overcast", "true"], ["overcast", "false"]]).astype(int)
    array([[4, 0],
           [2, 1],
           [1, 4]])
    """

    _pure_share = COUNT_SHARE + CUT_SHARE  # of a fit that has a delta

    sampling: Literal["shared", "disjoint"] = one_of("shared", "disjoint", default="shared")
    cuts: Literal["schema", "quantiles"] = one_of("schema", "quantiles", default="schema")

    leaf_values_: NDArray[np.float64] = fitted()
    leaf_deviations_: NDArray[np.float64] = fitted()
    prior_: Prior | None = fitted()

    def _train(self, desk: Desk, rng: np.random.Generator) -> None:
        """Grow the trees, choose the strategies and release the leaf counts."""
        self._encode(desk)
        paid_cuts = self.cuts == "quantiles" and bool(needs_bins(self.schema_))
        known = paid_cuts or self.max_depth == "auto" or self.n_hint is not None
        n_records = self._number_of_records(desk) if known else None
        if paid_cuts and n_records is not None:
            self._choose_cuts(desk, n_records)
        self._grow(self._plan(float(self.epsilon), n_records), rng)
        self.choices_ = []
        release = self._release if self.sampling == "shared" else self._release_disjoint
        released = release(desk)
        self.leaf_values_ = np.concatenate([a.values for a in released])
        self.leaf_deviations_ = np.concatenate([a.deviations for a in released])
        self.prior_ = prior_of(released)

    def workloads(self) -> list[Workload]:
        """The leaves of each ensemble as queries over its domain: T of the paper."""
        check_is_fitted(self, "ensembles_")
        return [Paths(self._domain(e), e.leaf_cells) for e in self.ensembles_]

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes of all trees for each class: V of the paper."""
        bins = self._bins(X)
        table = class_votes(self.leaf_values_, self.leaf_deviations_, self.prior_, self.voting)
        return add_leaf_values(self.forest_, bins, table, self.n_jobs)

    @also_of_sources
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The votes for each class, as probabilities."""
        return probabilities(self.votes(X), self.voting, self.forest_.n_trees)

    @also_of_sources
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes."""
        votes = self.votes(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def _explained(self) -> Explained:
        """Noise of all trees was made together; each leaf's deviation says how large it is.

        Next to it are forests that count records of no meaning, by chance and through the noise.
        """
        forest, counts, deviations = self.forest_, self.leaf_values_, self.leaf_deviations_
        total = counts.sum(axis=1)
        bins = self.encoding_.n_bins, self.encoding_.n_values
        shares = shares_of_leaves(forest, total, *bins)
        classes = np.maximum(counts.sum(axis=0), 0.0) + 1e-300
        chance = shared_chance(forest, shares, float(total.sum()) / forest.n_trees)
        expected = total[:, None] * classes / classes.sum()
        null = [
            class_votes(expected + noise, deviations, self.prior_, self.voting)[:, 0]
            for noise in noise_of_counts(chance, deviations, classes / classes.sum())
        ]
        table = class_votes(counts, deviations, self.prior_, self.voting) / forest.n_trees
        null_table = np.column_stack(null) / forest.n_trees
        return Explained(
            self.schema_.feature_names, forest, table, Law.independent(shares), null_table
        )

    def _check(self, groups: Any) -> None:
        super()._check(groups)
        if self.sampling == "disjoint" and (self.delta or self.strategy not in ("auto", "laplace")):
            raise ValueError(
                "sampling='disjoint' adds Laplace noise to each tree: leave strategy and delta as "
                "they are, or use sampling='shared'"
            )

    def _choose_cuts(self, desk: Desk, n_records: float) -> None:
        """Pay for cuts between bins of about equally many records."""
        price = Pure(CUT_SHARE * exact(self.epsilon) / 2)
        sizes = BinSizes(cells=CELLS_A_BIN * self.max_bins, bins=self.max_bins)
        found = choose_bins(desk, self.schema_, n_records, price, sizes)
        self.encoding_ = FoldedEncoding(self.schema_, found.encoding.cuts)
        desk.encode(self.encoding_)

    def _release(self, desk: Desk) -> list[Answers]:
        workloads = self.workloads()
        price = price_each(desk.ledger.unspent_epsilon, self.delta, len(workloads))
        self.choices_ = self._choose(desk, workloads, price)
        n_bins = tuple(int(n) for n in self.encoding_.n_bins)
        questions = [
            Question(label, w, choice.strategy, Cells(e.features, n_bins), total_of(w, choice))
            for label, w, choice, e in zip(
                self._named(self.choices_), workloads, self.choices_, self.ensembles_, strict=True
            )
        ]
        return answer_workloads(desk, questions, len(self.classes_), price)

    def _release_disjoint(self, desk: Desk) -> list[Answers]:
        sampling = TreeSampling("disjoint", self.forest_.n_trees)
        epsilon = desk.ledger.unspent_epsilon
        question = LeafQuestion.alike(self.forest_, len(self.classes_), epsilon, sampling)
        return [Answers(*leaf_counts(desk, question))]

    def _facts(self) -> dict[str, Any]:
        ensembles = [
            {"features": list(e.features), "trees": e.forest.n_trees} for e in self.ensembles_
        ]
        plan = [
            self.plan_.n_trees,
            self.plan_.max_depth,
            self.plan_.n_ensembles,
            self.plan_.n_features,
        ]
        prior = None if self.prior_ is None else self.prior_.shares.tolist()
        return super()._facts() | {"ensembles": ensembles, "plan": plan, "prior": prior}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **named("forest", self.forest_.to_arrays()),
            "leaf_values": self.leaf_values_,
            "leaf_deviations": self.leaf_deviations_,
        }

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.encoding_ = FoldedEncoding(self.schema_, self.encoding_.cuts)
        self.plan_ = Plan(*map(int, facts["plan"]))
        self.forest_ = Forest.from_arrays(of_group("forest", arrays))
        self.leaf_values_ = arrays["leaf_values"]
        self.leaf_deviations_ = arrays["leaf_deviations"]
        shares = facts["prior"]
        self.prior_ = shares and Prior(np.array(shares, np.float64), self.plan_.n_ensembles)
        n_leaves, n_classes = self.forest_.n_leaves, len(self.classes_)
        if (
            self.leaf_values_.shape != (n_leaves, n_classes)
            or self.leaf_deviations_.shape != (n_leaves,)
            or (self.prior_ is not None and self.prior_.shares.shape != (n_classes,))
        ):
            raise ValueError("the leaves do not fit the forest")
        self.forest_.refuse_other_features(self.encoding_.n_bins)

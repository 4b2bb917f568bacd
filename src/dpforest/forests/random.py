"""Random decision forests: the structure is drawn blindly, only the leaves read the data."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dpforest.forests.base import Neighbors, PrivateEstimator, Streams
from dpforest.forests.files import named, of_group
from dpforest.forests.parameters import check_choice, check_count, check_count_or_auto
from dpforest.privacy.accounts.tree_sampling import TreeSampling
from dpforest.privacy.desk import Desk
from dpforest.privacy.leaves import LeafQuestion, leaf_counts, leaf_labels
from dpforest.privacy.printed import printed_count, printed_labels
from dpforest.schema import Schema
from dpforest.tables.encode import Encoding
from dpforest.tables.routing import add_leaf_values, strongest_leaf
from dpforest.trees.growers import (
    MAX_LEAVES,
    grow_binary,
    grow_multiway,
    most_trees,
    refuse_deep_trees,
)
from dpforest.trees.pruning import largest_share, most_confident_nodes, prune
from dpforest.trees.rules import auto_depth, auto_trees, snr_trees
from dpforest.trees.structure import Forest
from dpforest.trees.votes import VOTING, Voting, draw_classes, leaf_votes, normalise


class RandomDecisionForestClassifier(ClassifierMixin, PrivateEstimator):
    """Differentially private random decision forest.

    Trees are drawn without looking at the data, which is free; the whole budget goes into
    the leaves. Jagannathan et al. (2009), Bojarski et al. (2014), Fletcher and Islam (2015, 2017).

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy budget. ``math.inf`` gives the non-private twin: same trees, no noise.
    schema : Schema or dict, optional
        What is public of the table. Without it, bounds, categories and classes are read from
        the data: a `PrivacyLeakWarning`, and no guarantee.
    n_estimators : int or "auto", default="auto"
        Trees. ``"auto"`` follows `dpforest.trees.rules.auto_trees`.
    max_depth : int or "auto", default="auto"
        Height of the trees. ``"auto"`` follows `dpforest.trees.rules.auto_depth`.
    n_hint : int, optional
        A public guess of the number of records, for ``"auto"``. Without it a fiftieth of epsilon
        pays for a noisy count.
    splits : {"binary", "multiway"}, default="binary"
        Two children a node, or one for each bin of a feature not yet used on the way.
    sampling : {"shared", "disjoint"}, default="shared"
        All trees see all records and share epsilon, or each record is dealt to one tree at random
        and each tree has all of epsilon.
    leaves : {"counts", "label"}, default="counts"
        Release noisy class counts (discrete Laplace) or only the label (permute-and-flip).
    voting : str, default="averaging"
        ``"majority"``, ``"averaging"`` (threshold averaging), ``"probabilistic"`` (a random draw),
        ``"weighted"`` (summed counts) or ``"most_confident"`` (the most confident node).
    pruning : {None, "snr"}, default=None
        Let a node speak for leaves whose counts drown in their noise.
    max_bins : int, default=255
        Bins of a numeric feature without declared cuts.
    variant : {None, "as_published"}, default=None
        The printed algorithm, for research: with ``leaves="label"`` and ``sampling="disjoint"``
        Fletcher and Islam's (2017) smooth sensitivity, with ``pruning="snr"`` and
        ``n_estimators="auto"`` their (2015) number of trees, which reads the number of records. A
        `NoGuaranteeWarning`, and ``ledger_.guarantee`` is None.
    neighbors : {"add_remove", "replace_one"}, default="add_remove"
        Which tables are neighbours.
    max_records_per_group : int, optional
        With ``fit(X, y, groups=...)``: protect persons, each with at most this many records.
    random_state : int, RandomState or None, default=None
        Makes structure and noise reproducible, for tests and papers; such noise is not secret.
    n_jobs : int, optional
        Threads; all cores by default.
    verbose : bool, default=False
        Print the ledger after the fit.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in the order of the schema.
    ledger_ : Ledger
        What was spent, and the guarantee.
    forest_ : Forest
        The structure.
    leaf_counts_ : ndarray of float64, shape (n_leaves, n_classes)
        What was released.
    schema_, encoding_, n_features_in_, feature_names_in_
        The schema in use, its bins, and scikit-learn's facts of the input.

    Examples
    --------
    >>> from dpforest import RandomDecisionForestClassifier, datasets
    >>> census = datasets.make_census(5_000, random_state=0)
    >>> forest = RandomDecisionForestClassifier(epsilon=1.0, schema=census.schema, random_state=0)
    >>> forest.fit(census.X, census.y).score(census.X, census.y) > 0.7
    True
    >>> forest.ledger_.epsilon
    1.0
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        schema: Schema | dict[str, Any] | None = None,
        n_estimators: int | Literal["auto"] = "auto",
        max_depth: int | Literal["auto"] = "auto",
        n_hint: int | None = None,
        splits: Literal["binary", "multiway"] = "binary",
        sampling: Literal["shared", "disjoint"] = "shared",
        leaves: Literal["counts", "label"] = "counts",
        voting: Voting = "averaging",
        pruning: Literal["snr"] | None = None,
        max_bins: int = 255,
        variant: Literal["as_published"] | None = None,
        neighbors: Neighbors = "add_remove",
        max_records_per_group: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.n_hint = n_hint
        self.splits = splits
        self.sampling = sampling
        self.leaves = leaves
        self.voting = voting
        self.pruning = pruning
        self.max_bins = max_bins
        self.variant = variant
        self.neighbors = neighbors
        self.max_records_per_group = max_records_per_group
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Grow the forest and release its leaves.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n, n_features)
            The features; frames match the schema by name.
        y : array-like of shape (n,)
            The classes.
        groups : array-like of shape (n,), optional
            The person of each record; then persons are protected, not records.

        Returns
        -------
        self
        """
        self._check_parameters(groups)
        streams = Streams.of(self.random_state)
        desk = self._open(X, y, groups, streams)
        if self.variant is not None:
            self._say_there_is_no_guarantee("variant")
        self.classes_ = np.array(self.schema_.classes)
        self.encoding_ = Encoding.from_schema(self.schema_, max_bins=self.max_bins)
        desk.encode(self.encoding_)
        with self._spending():
            n_trees, depth = self._plan(desk)
            grow = grow_multiway if self.splits == "multiway" else grow_binary
            self.forest_ = grow(self.encoding_.feature_bins, n_trees, depth, streams.structure)
            self.leaf_counts_ = self._release(desk)
            self._prepare_votes(streams.structure)
        if self.verbose:
            print(self.ledger_.explain())
        return self

    def revote(self, voting: Voting, *, pruning: Literal["snr"] | None = None) -> Self:
        """Let the leaves vote by another rule, without another look at the data.

        Post-processing of what was released, so it costs nothing and the ledger stays as it is.
        Leaves that saw nothing draw their shares anew.

        Parameters
        ----------
        voting, pruning
            As in the constructor.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_voting(voting, pruning)
        self.voting, self.pruning = voting, pruning
        self._prepare_votes(Streams.of(self.random_state).structure.spawn(1)[0])
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The votes for each class, as probabilities.

        Parameters
        ----------
        X : frame or array
            Records of the schema.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
        """
        bins = self._bins(X)
        if self.voting == "most_confident":
            leaf = strongest_leaf(self.forest_, bins, self._confidence, self.n_jobs)
            return self._leaf_votes[leaf]
        return normalise(add_leaf_values(self.forest_, bins, self._leaf_votes, self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes, or a random draw when voting is probabilistic."""
        probabilities = self.predict_proba(X)
        if self.voting == "probabilistic":
            seed = None if self.random_state is None else check_random_state(self.random_state)
            rng = np.random.default_rng(None if seed is None else seed.randint(2**31 - 1))
            return np.asarray(self.classes_[draw_classes(probabilities, rng)])
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _check_parameters(self, groups: Any) -> None:
        self._check_shared_parameters(groups)
        check_count_or_auto("n_estimators", self.n_estimators)
        check_count_or_auto("max_depth", self.max_depth)
        if self.splits == "binary" and self.max_depth != "auto":
            refuse_deep_trees(self.n_estimators, self.max_depth)
        check_count("max_bins", self.max_bins, low=2)
        check_choice("splits", self.splits, ("binary", "multiway"))
        check_choice("sampling", self.sampling, ("shared", "disjoint"))
        check_choice("leaves", self.leaves, ("counts", "label"))
        self._check_voting(self.voting, self.pruning)
        check_choice("variant", self.variant, (None, "as_published"))
        if self.variant is not None:
            self._check_variant()

    def _check_variant(self) -> None:
        """Refuse what no paper printed, or printed and is private."""
        if self.leaves == "label" and self.sampling == "disjoint":
            return
        if self.pruning != "snr" or self.n_estimators != "auto" or self.n_hint is not None:
            raise ValueError(
                "variant='as_published' is about two papers: leaves='label' with "
                "sampling='disjoint', or pruning='snr' with n_estimators='auto' and no n_hint. All "
                "else holds as printed: leave variant out"
            )
        if self.neighbors == "replace_one":
            raise ValueError(
                "with neighbors='replace_one' the number of records is public, and pruning='snr' "
                "holds as printed: leave variant out"
            )

    def _check_voting(self, voting: str, pruning: str | None) -> None:
        check_choice("voting", voting, VOTING)
        check_choice("pruning", pruning, (None, "snr"))
        if self.leaves == "label" and (pruning or voting == "most_confident"):
            raise ValueError(
                "leaves='label' releases no counts, which pruning and voting='most_confident' "
                "need: use leaves='counts'"
            )

    def _plan(self, desk: Desk) -> tuple[int, int]:
        """The number of trees and their depth; ``"auto"`` may pay for a noisy count."""
        epsilon = float(self.epsilon)
        n_trees, depth = self.n_estimators, self.max_depth
        if "auto" not in (n_trees, depth):
            return int(n_trees), int(depth)
        printed = self.variant is not None and self.pruning == "snr"
        n_records = printed_count(desk) if printed else self._number_of_records(desk)
        if n_trees == "auto" and printed:
            mean_bins = float(self.encoding_.n_values.mean())
            n_trees = snr_trees(
                n_records, self.n_features_in_, len(self.classes_), mean_bins, epsilon
            )
        elif n_trees == "auto":
            room = MAX_LEAVES if self.splits == "multiway" else most_trees(depth)
            n_trees = int(min(auto_trees(n_records, epsilon), room))
        if depth == "auto":
            depth = auto_depth(self.n_features_in_, n_records, epsilon / n_trees)
        return int(n_trees), int(depth)

    def _release(self, desk: Desk) -> NDArray[np.float64]:
        """Release the leaves with all that is left of epsilon."""
        n_classes = len(self.classes_)
        sampling = TreeSampling(self.sampling, self.forest_.n_trees)
        epsilon = desk.ledger.unspent_epsilon
        question = LeafQuestion.alike(self.forest_, n_classes, epsilon, sampling)
        if self.leaves == "counts":
            return leaf_counts(desk, question).values
        if self.variant is not None:
            return np.asarray(np.eye(n_classes)[printed_labels(desk, question)])
        return leaf_labels(desk, question).values

    def _prepare_votes(self, rng: np.random.Generator) -> None:
        """Turn released counts into what leaves say: post-processing, with a public stream."""
        shared = self.sampling == "shared"
        epsilon_per_tree = self.epsilon / (self.forest_.n_trees if shared else 1)
        counts = self.leaf_counts_
        self._confidence = np.zeros(len(counts))
        if self.voting == "most_confident":
            counts = most_confident_nodes(self.forest_, counts, epsilon_per_tree)
            self._confidence = largest_share(counts)
        elif self.pruning == "snr":
            counts = prune(self.forest_, counts, epsilon_per_tree)
        self._leaf_votes = leaf_votes(counts, self.voting, rng)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **named("forest", self.forest_.to_arrays()),
            "leaf_counts": self.leaf_counts_,
            "leaf_votes": self._leaf_votes,
            "confidence": self._confidence,
        }

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        self.classes_ = np.array(self.schema_.classes)
        self.forest_ = Forest.from_arrays(of_group("forest", arrays))
        expected = (self.forest_.n_leaves, len(self.classes_))
        self.leaf_counts_ = arrays["leaf_counts"]
        self._leaf_votes = arrays["leaf_votes"]
        self._confidence = arrays["confidence"]
        if not self.leaf_counts_.shape == self._leaf_votes.shape == expected:
            raise ValueError("the leaves do not fit the forest")
        self.forest_.refuse_other_features(self.encoding_.n_bins)

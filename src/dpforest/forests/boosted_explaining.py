"""What the flagship's forests say of themselves, from what they released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest.arrays import Values
from dpforest.forests.boosted_scoring import ScoringBoosting
from dpforest.forests.boosting import BoostedTrees
from dpforest.forests.declared import fitted
from dpforest.forests.starts import Start
from dpforest.losses import Loss
from dpforest.report import Contributions, contributions, plot_effect
from dpforest.report.descent_noise import DescentNoise
from dpforest.report.explained import Explained
from dpforest.report.importances import Importances
from dpforest.report.law import Law, law_of_leaves
from dpforest.report.noise_runs import RUNS, Chance, EarlierTrees, LeafNoise, noise_values
from dpforest.report.notes import Notes
from dpforest.trees.linear import LinearDesign
from dpforest.trees.unfolding import leaf_table, unfold


class ExplainedBoosting(ScoringBoosting):
    """A boosted forest that explains itself; not to be used by itself."""

    bin_shares_: tuple[NDArray[np.float64] | None, ...] = fitted()
    bin_weights_: tuple[NDArray[np.float64] | None, ...] = fitted()
    leaf_noise_: LeafNoise = fitted()
    total_weight_: float = fitted()
    _start_noise: DescentNoise | None = fitted()
    _start_by_chance: Values = fitted()  # of a greedy tree
    _kept_law_: tuple[LeafNoise, Law] | None = None  # names that the next fit forgets
    _kept_importances_: tuple[LeafNoise, Importances] | None = None

    @property
    def released_shares(self) -> tuple[NDArray[np.float64], ...]:
        """The share of the records in each bin of each feature, as far as released numbers say."""
        return tuple(shares for shares in self.bin_shares_ if shares is not None)

    @property
    def released_law(self) -> Law:
        """How records spread over bins, all features together, as far as released numbers say.

        It takes a second to find, so it is kept for as long as the forest is the same.
        """
        noise = self.leaf_noise_
        if self._kept_law_ is None or self._kept_law_[0] is not noise:
            trees = self.forest_.trees[self._n_start_trees :]
            released = noise.hessians, noise.hessian_deviations, self.released_shares
            self._kept_law_ = noise, law_of_leaves(trees, *released)
        return self._kept_law_[1]

    def importances(self) -> Importances:
        """The importance of every feature, with an interval; see `dpforest.report.Importances`.

        Kept like the law: whatever lists a model's attributes, as notebooks do, asks for them.
        """
        check_is_fitted(self)
        noise = self.leaf_noise_
        if self._kept_importances_ is None or self._kept_importances_[0] is not noise:
            self._kept_importances_ = noise, super().importances()
        return self._kept_importances_[1]

    def _keep_start(self, start: Start | None) -> None:
        """Keep what is known of the trees that come before the rounds, if there are any."""
        self._n_start_trees = 0 if start is None else start.forest.trees.n_trees
        self._start_noise = None if start is None else start.noise
        self._start_by_chance = np.zeros((0, RUNS)) if start is None else start.by_chance

    def _keep_notes(self, notes: Notes, earlier: list[LeafNoise]) -> None:
        """Keep what explanations need; nothing here may fail, as the budget is spent."""
        self.leaf_noise_ = LeafNoise.stack([*earlier, *notes.noise])
        if not all(s is not None and len(s) == n for s, n in self._shares_and_bins()):
            encoding = self.encoding_
            self.bin_shares_ = notes.shares(
                self._loss(), encoding.n_bins, encoding.n_values, self.bin_shares_
            )

    def _shares_and_bins(self) -> Iterable[tuple[NDArray[np.float64] | None, int]]:
        return zip(self.bin_shares_, self.encoding_.n_bins.tolist(), strict=True)

    def noise_forest(self) -> BoostedTrees:
        """The same trees, had they learnt from noise alone: an output for each of some runs."""
        return self._noise_forest(self.released_law)

    def _noise_forest(self, law: Law) -> BoostedTrees:
        first, forest, noise = self._n_start_trees, self.forest_, self.leaf_noise_
        grown = forest.trees[first:]
        if not noise.deviations.any() and not first:
            # Without noise there is nothing to compare with.
            return BoostedTrees(forest.trees, np.zeros_like(forest.values[:, :1]).repeat(2, axis=1))
        runs = []
        start = None
        if first:
            runs.append(self._noise_of_start())
            start = EarlierTrees(runs[0].trees, forest.values[:first], runs[0].values)
        released = grown, forest.values[first:]
        values = noise_values(*released, noise, law, self._chance(), self._largest_hessian, start)
        return BoostedTrees.stack([*runs, BoostedTrees(grown, values)])

    def _noise_of_start(self) -> BoostedTrees:
        noise = self._start_noise
        if noise is None:
            tree = self.forest_[: self._n_start_trees]
            by_chance = np.zeros((tree.trees.n_trees, RUNS, tree.values.shape[2]), np.float32)
            leaf = np.abs(tree.values).max(axis=1).argmax(axis=1)
            by_chance[np.arange(len(leaf)), :, leaf] = self._start_by_chance
            return BoostedTrees(tree.trees, by_chance)
        design = self._linear_design()
        facts = self.released_shares, self._largest_hessian, self._chance()
        weights = noise.weights(design, *facts)
        trees, values = design.as_trees(weights, self.encoding_.n_bins)
        return BoostedTrees(trees, values.astype(np.float32))

    @property
    def _largest_hessian(self) -> float:
        """The Hessian of all records while the model says nothing."""
        return self._loss().largest_hessian * self.total_weight_

    @property
    def _is_chosen_once(self) -> bool:
        """Whether a rule, which no noise is known of, says anything of the records."""
        noise, said = self._start_noise, self.forest_.values[: self._n_start_trees]
        return noise is not None and noise.is_none and bool(said.any())

    def _linear_design(self) -> LinearDesign:
        """What the weights of a linear start multiply: post-processing of released bins."""
        bins, middles = self.encoding_.feature_bins, self.encoding_.middles
        by_value = self._loss().linear_values
        return LinearDesign.of_bins(bins, self.bin_weights_, middles, by_value)

    def _explained(self) -> Explained:
        trees, law = self.forest_.trees, self.released_law
        return Explained(
            self.schema_.feature_names,
            unfold(trees),
            leaf_table(trees, self.forest_.values),
            law,
            leaf_table(trees, self._noise_forest(law).values),
            self._is_chosen_once,
        )

    @property
    def told(self) -> str:
        """What the model answers, in a word or two."""
        return "probability"

    @property
    def score_units(self) -> tuple[float | Values, Values]:
        """What a unit of the score is worth, and where each score is measured from."""
        raise NotImplementedError

    def contributions(self, X: Any) -> Contributions:
        """What each feature contributes to each score; see `dpforest.report.contributions`."""
        return contributions(self, X)

    def plot_effect(self, feature: str, ax: Any = None) -> Any:
        """Draw what one feature does; see `dpforest.report.plot_effect`."""
        return plot_effect(self, feature, ax)

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _chance(self) -> Chance:
        """What chance does to gradients."""
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        noise = None if self._start_noise is None else astuple(self._start_noise)
        shares = [shares.tolist() for shares in self.released_shares]
        return {**super()._facts(), "start_noise": noise, "bin_shares": shares}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._arrays(),
            "leaf_gains": self.leaf_noise_.gains,
            "leaf_hessians": self.leaf_noise_.hessians,
            "tree_deviations": self.leaf_noise_.deviations,
            "hessian_deviations": self.leaf_noise_.hessian_deviations,
            "dampings": self.leaf_noise_.dampings,
            "factors": self.leaf_noise_.factors,
            "tree_by_chance": self._start_by_chance,
        }

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(facts, arrays)
        start = facts["start_noise"]
        self._start_noise = None if start is None else DescentNoise(*map(float, start))
        self.bin_shares_ = tuple(np.array(shares, np.float64) for shares in facts["bin_shares"])
        if [len(shares) for shares in facts["bin_shares"]] != self.encoding_.n_bins.tolist():
            raise ValueError("the shares do not fit the bins")
        self.leaf_noise_ = LeafNoise(
            arrays["leaf_gains"],
            arrays["leaf_hessians"],
            arrays["tree_deviations"],
            arrays["hessian_deviations"],
            arrays["dampings"],
            arrays["factors"],
        )
        by_chance = arrays.get("tree_by_chance", np.zeros((0, RUNS)))  # older files have none
        self._start_by_chance = by_chance.astype(np.float64)

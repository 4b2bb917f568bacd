"""How the flagship spends its budget and chooses its shape: public facts and a noisy n.

With T trees that add up to a budget mu, a leaf sum carries noise sqrt(T) / mu, and T trees average
it out again: what counts is neither T nor the batch but the *signal* n * mu, the number of records
times the budget, and the total step (rounds times learning rate). More signal affords more depth
and longer steps; damping keeps leaves quiet whose Hessians drown in noise. Where k records lie
between neighbours all noise is k times as large, so the budget is worth a k-th of itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpforest.forests.purse import LAPLACE_SIGNAL, Purse, has_little_signal
from dpforest.losses import LARGEST_GRID, IntegerLoss, Loss
from dpforest.privacy.accounts.prices import finest_grid
from dpforest.privacy.accounts.spends import Price

TARGET_SHARE = Fraction(2, 100)  # for each look at the target of a regression
MANY_RECORDS = 100_000  # from here on a look at all bins takes long
VERY_MANY_RECORDS = 900_000  # a million, whatever noise says: small rounds would double the time
TRIAL_PART = Fraction(2, 5)  # of the rounds, those of a trial of choices
LONG_WAY = 400.0  # beyond, three trees a round go too far at a time


@dataclass(frozen=True)
class BoostingPlan:
    """The shape of the forest.

    Parameters
    ----------
    n_trees, trees_per_round, depth : int
    learning_rate : float
        Of a round: its trees are averaged and multiplied by this.
    damping : float
        Added to the Hessian of every leaf.
    leaf_damping : float
        Added too, divided by the number of leaves.
    learnt, focus, memory, learnt_cuts : float
    together : bool
        How features and cuts are drawn; see `dpforest.trees.oblivious_grower.ObliviousGrower`.
    n_choices : int
        Questions that are chosen, rather than drawn, spread evenly over the rounds.
    n_trial : int
        Of these, the first, which say whether the others are made; 0 where they are anyway.
    chosen_levels : int
        Levels of a tree that ask them.
    asking : float
        The share of the trees that do.
    choices_wait : bool
        Whether nothing is chosen before released sums show that few questions matter, together.
    choice_clip : float
        Of the clip of gradients, that of a choice.
    clip_per_hessian : float
        Of that in turn, for each unit of the Hessians of all records; 0 where it stays.
    candidate_trees : int
        Trees of which one is chosen with all its questions; 0 where questions are, one by one.
    deepening : bool
        Whether ``depth`` is that of the first trees, and later ones grow with what those show.
    """

    n_trees: int
    trees_per_round: int
    depth: int
    learning_rate: float
    damping: float
    leaf_damping: float
    learnt: float
    focus: float
    memory: float
    learnt_cuts: float
    n_choices: int = 0
    n_trial: int = 0
    chosen_levels: int = 0
    asking: float = 0.0
    choices_wait: bool = False
    choice_clip: float = 1.0
    clip_per_hessian: float = 0.0
    candidate_trees: int = 0
    deepening: bool = False
    together: bool = False

    @property
    def n_rounds(self) -> int:
        """Rounds of trees; the last may be smaller."""
        return -(-self.n_trees // self.trees_per_round)

    @property
    def choice_rounds(self) -> list[int]:
        """The rounds before which a choice is made, spread evenly; a trial comes first."""
        trial = int(TRIAL_PART * self.n_rounds) if self.n_trial else 0
        after = _evenly(self.n_choices - self.n_trial, self.n_rounds - trial)
        return _evenly(self.n_trial, trial) + [trial + number for number in after]

    @property
    def n_trees_after_trial(self) -> int:
        """Trees of the rounds from the choice on that a trial would be followed by."""
        return self.n_trees - self.choice_rounds[self.n_trial] * self.trees_per_round


def _evenly(n: int, rounds: int) -> list[int]:
    return [-(-k * rounds // n) for k in range(n)]


#: Where the start is the whole model.
NO_TREES = BoostingPlan(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def on_grid(loss: Loss, purse: Purse, price: Price, steps: int) -> IntegerLoss:
    """The loss, clipped as it says of itself, on a grid that noise allows.

    A grid of 4096 steps is as good as none; tiny budgets, whose noise would leave the range of the
    exact sampler, get a coarser one.
    """
    clip = loss.clip(purse.norm) if purse.private else loss.clip_without_noise
    grid = finest_grid(price, steps, LARGEST_GRID)
    return IntegerLoss(loss, purse.norm, grid, clip, loss.hessian_part(purse.norm))


@dataclass(frozen=True)
class Asked:
    """What the user asked for; None where that was "auto"."""

    n_trees: int | None = None
    trees_per_round: int | None = None
    depth: int | None = None
    learning_rate: float | None = None


def plan_boosting(
    purse: Purse,
    tree_share: Fraction,
    loss: IntegerLoss,
    n_records: float,
    n_features: int,
    any_numeric: bool,
    asked: Asked,
) -> BoostingPlan:
    """Fill in what the user left open.

    Parameters
    ----------
    purse : Purse
    tree_share : Fraction
        The share of the budget that is left for the trees.
    loss : IntegerLoss
        For its rules and the norm of a record's derivatives.
    n_records : float
        Noisy, or a public hint.
    n_features : int
    any_numeric : bool
        Whether any feature is numeric.
    asked : Asked
    """
    n_trees = asked.n_trees or _n_trees(purse, n_records)
    rules, norm = loss.loss, loss.norm
    if not purse.private:
        few = rules.drawing.together and n_records < MANY_RECORDS
        per_round = min(asked.trees_per_round or (2 if few else 4), n_trees)
        way = min(max(rules.root_step * math.sqrt(max(n_records, 0.0)), 60.0), 300.0)
        rate = asked.learning_rate or min(way * per_round / n_trees, 1.5)
        shape = n_trees, per_round, asked.depth or 6, rate
        deepening = asked.depth is None
        return BoostingPlan(*shape, 1.0, 0.0, **rules.drawing._asdict(), deepening=deepening)
    mu = purse.strength * math.sqrt(tree_share)
    if purse.pure:
        # Laplace noise of deviation sqrt(2) T / epsilon is that of a Gaussian budget of this mu.
        mu = purse.strength * float(tree_share) / math.sqrt(2.0 * n_trees)
    signal = n_records * mu / loss.bound / max(1.0, loss.n_outputs / 2.0)
    step = min(rules.total_step(signal, norm), rules.longest_step(n_records, norm))
    small_rounds = rules.small_rounds and n_records < VERY_MANY_RECORDS
    drawing = rules.gaussian_drawing
    if purse.pure:
        drawing = rules.drawing._replace(together=False)
    elif not any_numeric or has_little_signal(purse, n_records, n_features):
        drawing = rules.drawing
    part = rules.leaf_damping(norm)
    largest_rate = 1.5 if part == 0 else 0.8 * (1.0 + part)
    per_round = _small_round(n_trees, step) if small_rounds else _round(step)
    per_round = min(asked.trees_per_round or (1 if purse.pure else per_round), n_trees)
    rounds = -(-n_trees // per_round)
    rate = asked.learning_rate or min(step / rounds, largest_rate)
    return BoostingPlan(
        n_trees,
        per_round,
        asked.depth or rules.depth(signal, n_features, any_numeric, norm),
        rate,
        rules.damping(norm, rate * rounds) * loss.bound / mu + 1.0,
        part * max(n_records, 0.0) * rules.largest_hessian,
        **drawing._asdict(),
        deepening=asked.depth is None and not purse.pure,
    )


def _n_trees(purse: Purse, n_records: float) -> int:
    """Trees cost time only; with Laplace noise, which adds up linearly, they cost accuracy."""
    if not purse.private:
        return 1200
    if purse.pure:
        signal = LAPLACE_SIGNAL * n_records * purse.strength
        return int(min(max(16.0 * math.pow(signal / 300.0, 0.4), 12.0), 48.0))
    return 800


def _round(step: float) -> int:
    """Large rounds average structure away; long ways need more rounds to stay stable."""
    return 10 if step > 45.0 else 20


def _small_round(n_trees: int, step: float) -> int:
    """The same where time allows: fewer trees where a round would go further than 1."""
    if step > LONG_WAY:
        return 2
    return 5 if step <= n_trees / 5 else 3

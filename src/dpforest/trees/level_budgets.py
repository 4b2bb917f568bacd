"""How a tree's epsilon is spread over its levels: public weights, and nothing else.

A tree of h levels of splits has h + 1 levels of nodes, the last of them leaves. Each level but the
last pays for the choices of its nodes; in some schemes each level pays for counts, in the others
the last one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

LevelBudget = Literal["even", "linear", "harmonic", "hou", "cube_root"]
LEVEL_BUDGETS: tuple[str, ...] = get_args(LevelBudget)

# Of the epsilon of counts, from level to level, in DPGDF: the cube root of 2.
GROWTH = Fraction(2 ** (1 / 3)).limit_denominator(10**6)


@dataclass(frozen=True)
class LevelShares:
    """The shares of a tree's epsilon, level by level from the root; they add up to 1.

    Parameters
    ----------
    choices : tuple of Fraction
        For the choices of each level of splits.
    counts : tuple of Fraction
        For counts on each level of nodes, the last of them leaves: one more.
    """

    choices: tuple[Fraction, ...]
    counts: tuple[Fraction, ...]

    @property
    def has_counts(self) -> bool:
        """Whether levels above the last have a share for counts of their own."""
        return any(self.counts[:-1])

    def spent_after(self, n_levels: int) -> Fraction:
        """The share that the first levels of splits have spent together."""
        parts = (*self.choices[:n_levels], *self.counts[:n_levels])
        return sum(parts, Fraction(0))


def share_out(scheme: LevelBudget, n_levels: int) -> LevelShares:
    """The shares of a scheme for so many levels of splits.

    - ``"even"``: the same for every level and for the leaves;
    - ``"linear"``: level k has k parts (DiffPRF_linear);
    - ``"harmonic"``: level k of d has 1 / (d - k + 1) parts (TpDPRF, eDPRF);
    - ``"hou"``: the same twice, for choices and for counts, and once for the last level;
    - ``"cube_root"``: half for choices, evenly; half for counts, growing by the cube root of 2
      from level to level (DPGDF).

    Examples
    --------
    >>> [str(share) for share in share_out("harmonic", 2).choices]  # of 1/3 + 1/2 + 1
    ['2/11', '3/11']
    >>> share_out("even", 3).spent_after(3)
    Fraction(3, 4)
    """
    levels = range(1, n_levels + 2)
    if scheme == "cube_root":
        growing = [GROWTH**k for k in levels]
        counts = tuple(part / (2 * sum(growing)) for part in growing)
        return LevelShares((Fraction(1, 2 * n_levels),) * n_levels, counts)
    parts = {
        "even": [Fraction(1) for _ in levels],
        "linear": [Fraction(k) for k in levels],
        "harmonic": [Fraction(1, n_levels + 2 - k) for k in levels],
    }
    shape = parts["harmonic" if scheme == "hou" else scheme]
    counted = shape if scheme == "hou" else [*[Fraction(0)] * n_levels, shape[-1]]
    whole = sum(shape[:-1]) + sum(counted)
    choices = tuple(part / whole for part in shape[:-1])
    return LevelShares(choices, tuple(part / whole for part in counted))

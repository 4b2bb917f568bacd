"""Which records the trees of a forest see, and what that makes of a tree's epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dpforest.privacy.accounts.spends import Amount, exact
from dpforest.trees.structure import Sampling

SAFE = Fraction(1) - Fraction(1, 1 << 40)  # rounds the logarithms below to the safe side


class Span(NamedTuple):
    """What the forest has spent of epsilon before a release, and after it."""

    before: Amount
    after: Amount

    @property
    def price(self) -> Amount:
        """What the release costs."""
        return self.after if math.isinf(self.after) else self.after - self.before


@dataclass(frozen=True)
class TreeSampling:
    """How records reach trees, with the price of it.

    - ``"shared"``: every tree sees all records. The trees add up.
    - ``"disjoint"``: each record is dealt to one tree by a draw of its own. One tree sees it, so
      the trees cost together what one costs.
    - ``"without_replacement"``: each record joins each tree by a secret coin of probability p.
      A tree that spends e on its sample costs log(1 + p (exp(e) - 1)), and the trees add up.
      Let A be the law of its release without the record. With it, the law is (1 - p) A + p B,
      where B is within a factor exp(e) of A, sample by sample. The ratio of the two is at most
      1 - p + p exp(e) and at least 1 - p + p exp(-e), which is no less than the inverse of it.

    Parameters
    ----------
    kind : {"shared", "disjoint", "without_replacement"}
    n_trees : int
    share : Fraction
        The probability p; of no meaning otherwise.
    """

    kind: Sampling
    n_trees: int
    share: Fraction = Fraction(1)

    def price_of_tree(self, epsilon: Amount) -> Amount:
        """What one tree costs where the forest costs epsilon."""
        if math.isinf(epsilon) or self.kind == "disjoint":
            return epsilon
        return exact(epsilon) / self.n_trees

    def within_tree(self, epsilon: Amount, steps: int) -> Amount:
        """What a tree may spend on the records it sees, for one added record.

        Parameters
        ----------
        epsilon : Amount
            What the forest costs.
        steps : int
            Added or removed records between neighbours.
        """
        price = self.price_of_tree(epsilon)
        if math.isinf(price):
            return price
        per_step = exact(price) / steps
        if self.kind != "without_replacement" or self.share == 1 or per_step == 0:
            return per_step
        # log(1 + (exp(x) - 1) / p), written so that nothing overflows.
        gained = math.log1p((1 / self.share - 1) * -math.expm1(-per_step))
        return per_step + exact(gained) * SAFE

    def within_span(self, span: Span, steps: int) -> Amount:
        """What a tree may spend on its records, for one added record, in a span of epsilon."""
        after = self.within_tree(span.after, steps)
        return after if math.isinf(after) else after - self.within_tree(span.before, steps)

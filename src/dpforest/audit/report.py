"""What an audit found, in words and as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy.accounts.accounting import gaussian_epsilon
from dpforest.privacy.accounts.guarantee import NOT_FOR_RELEASE, Guarantee


@dataclass(frozen=True)
class AuditReport:
    """The claim, what was proved against it, and by which event.

    Parameters
    ----------
    name : str
        What was audited.
    claim : Guarantee
        What was claimed of it.
    confidence : float
        Of the bounds.
    epsilon_bound : float
        The true epsilon, at the claim's delta, is at least this.
    pair, event : str
        The neighbouring tables and the event that showed it.
    likelier : {"without", "with"}
        Whether the event is likelier without the record or with it.
    hits : tuple of int
        How often the event happened with the table that makes it likelier, and with the other.
    trials : int
        Counted trials with each table.
    claimed_mu : float or None
        The claim as that of a Gaussian mechanism, where it is one.
    mu_bound : float
        The true mu is at least this.
    scores : tuple of ndarray
        The score behind the event, in the counted trials with either table.
    """

    name: str
    claim: Guarantee
    confidence: float
    epsilon_bound: float
    pair: str
    event: str
    likelier: str
    hits: tuple[int, int]
    trials: int
    claimed_mu: float | None = None
    mu_bound: float = 0.0
    scores: tuple[NDArray[np.float64], NDArray[np.float64]] = field(
        default=(np.empty(0), np.empty(0)), repr=False, compare=False
    )

    @property
    def leaks(self) -> bool:
        """Whether the claim is refuted at the confidence."""
        gaussian = self.claimed_mu is not None and self.mu_bound > self.claimed_mu
        return self.epsilon_bound > self.claim.epsilon or gaussian

    @property
    def lower_bound(self) -> float:
        """The bound on epsilon; for a Gaussian claim the epsilon, at delta, of the bound on mu."""
        if self.claimed_mu is None:
            return self.epsilon_bound
        return max(self.epsilon_bound, gaussian_epsilon(self.mu_bound, self.claim.delta))

    @property
    def verdict(self) -> str:
        """One word or two."""
        return "LEAKS" if self.leaks else "no leak found"

    def __str__(self) -> str:
        """The report in lines."""
        of_mu = ""
        if self.claimed_mu is not None:
            of_mu = f" (mu: claimed {self.claimed_mu:.4g}, at least {self.mu_bound:.4g})"
        seen, other = self.hits
        return "\n".join(
            [
                f"{self.name}: {self.verdict}",
                f"  claimed   {self.claim}",
                f"  proved    epsilon >= {self.lower_bound:.4g} at confidence "
                f"{self.confidence:g}{of_mu}",
                f"  tables    {self.pair}",
                f"  event     {self.event}",
                f"            {seen:,} of {self.trials:,} {self.likelier} the record, "
                f"{other:,} of {self.trials:,} otherwise",
            ]
        )

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the score with either table; needs matplotlib (``pip install dpforest[plot]``).

        Parameters
        ----------
        path : str or Path, optional
            A file to write.

        Returns
        -------
        matplotlib Figure
        """
        figure, axes = new_figure()
        pooled = np.concatenate(self.scores)
        shown = pooled[np.abs(pooled) < 1e200]
        edges = np.histogram_bin_edges(shown, bins=min(60, max(2, len(np.unique(shown)))))
        for scores, label in zip(self.scores, ("without the record", "with it"), strict=True):
            axes.hist(np.clip(scores, edges[0], edges[-1]), edges, alpha=0.55, label=label)
        axes.axvline(float(self.event.rsplit(" ", 1)[1]), color="black", linestyle=":")
        axes.set_xlabel(self.event.rsplit(" ", 2)[0])
        axes.set_ylabel("releases")
        axes.set_title(
            f"{self.name}: {self.verdict}\nclaimed epsilon {self.claim.epsilon:.3g}, "
            f"proved at least {self.lower_bound:.3g}"
            + ("" if self.claim.releasable else f"\n{NOT_FOR_RELEASE}")
        )
        axes.legend()
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def new_figure() -> tuple[Any, Any]:
    """A figure with one pair of axes, without the global state of pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'dpforest[plot]'") from error
    figure = Figure(figsize=(7, 4), layout="constrained")
    return figure, figure.subplots()

"""Many small regressions on released sums that forget: what is known of effects that change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.arrays import Values
from dpforest.trees import learning_kernels

LEAST = 0.02  # energy of what is seen, in units of its noise: what has been fitted may come back
FIRMEST = 1e-10  # of what was seen, what the prior counts at the least: sums are no finer


class FadingRegressions:
    """Linear regressions on noisy numbers, a separate one for each of many things.

    What is *seen* of a thing is a row times its weights, and Gaussian noise. Weights are drawn, a
    priori, with one variance for all things: as large as makes the squares of what was seen come
    out right, on average. Boosting fits what it sees, so weights change: what was seen counts for
    less and less, as the memory says. Seen numbers are released, so all of it is post-processing.

    Parameters
    ----------
    n_things, n_weights : int
    memory : float
        What a number counts, a round later.

    Examples
    --------
    >>> known = FadingRegressions(2, 1, memory=1.0)
    >>> known.learn(np.array([0] * 100), np.ones((100, 1)), np.full((100, 1), 3.0), noise=1.0)
    >>> mean, covariance = known.posterior()
    >>> mean.ravel().round(2).tolist(), covariance.ravel().round(2).tolist()
    ([3.0, 0.0], [0.01, 8.0])
    """

    def __init__(self, n_things: int, n_weights: int, memory: float) -> None:
        self._precision = np.zeros((n_things, n_weights, n_weights))
        self._pull: Values | None = None
        self._memory = memory
        self._noise = 1.0
        self._net = self._seen = self._rows = 0.0

    def learn(self, thing: NDArray[np.integer], rows: Values, seen: Values, noise: float) -> None:
        """Take note of what a round showed.

        Parameters
        ----------
        thing : ndarray of int, shape (n,)
        rows : ndarray of float64, shape (n, n_weights)
        seen : ndarray of float64, shape (n, n_outputs)
        noise : float
            The variance of the noise in what is seen.
        """
        if self._pull is None:
            self._pull = np.zeros((*self._precision.shape[:2], seen.shape[1]))
        self._noise = noise
        self._precision *= self._memory
        self._pull *= self._memory
        learning_kernels.add_rows(thing, rows, seen, self._precision, self._pull)
        net = float(((seen**2).mean(axis=1) - noise).sum())
        self._net = self._memory * self._net + net
        self._seen = self._memory * self._seen + len(rows)
        self._rows = self._memory * self._rows + float((rows**2).sum())

    @property
    def prior(self) -> float:
        """The variance of a weight of which nothing is known."""
        if self._rows == 0.0:
            return 0.0
        return max(self._net, LEAST * self._noise * self._seen) / self._rows

    @property
    def typical(self) -> float:
        """The energy that was seen, on average, above the noise."""
        return self.prior * self._rows / self._seen if self._seen else 0.0

    def posterior(self) -> tuple[Values, Values]:
        """What weights are: means, (things, weights, outputs), and covariances of an output."""
        covariances = np.empty_like(self._precision)
        return self._means(covariances), covariances

    def means(self) -> Values:
        """What weights are, means alone: this takes less time."""
        return self._means(self._precision[:0])

    def _means(self, covariances: Values) -> Values:
        assert self._pull is not None
        means = np.empty_like(self._pull)
        # Where nothing is left to see there is no noise either, and what was seen drowns the prior.
        firm = 1.0 / max(self.prior, 1e-300)
        known = self._precision, self._pull, self._noise, firm, FIRMEST
        learning_kernels.solve(*known, means, covariances)
        return means

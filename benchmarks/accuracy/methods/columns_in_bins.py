"""A column as noisy shares of few bins, and back: numbers through fine cells of equal width."""

from dataclasses import dataclass

import numpy as np

CELLS = 128


@dataclass(frozen=True)
class Column:
    """Cells are categories, or parts of the public range; bins are runs or groups of cells."""

    low: float
    high: float
    categorical: bool
    bin_of: np.ndarray  # a cell's bin
    weights: np.ndarray  # a cell's noisy count, 0 at least

    @classmethod
    def measured(
        cls,
        values: np.ndarray,
        size: int,
        low: float,
        high: float,
        n_bins: int,
        deviation: float,
        rng: np.random.Generator,
    ) -> "Column":
        """Count the cells with noise; numbers get bins of like mass, rare categories share one."""
        empty = cls(low, high, size > 0, np.arange(size or CELLS), np.ones(size or CELLS))
        exact = np.bincount(empty.cells(values), minlength=len(empty.bin_of))
        noisy = np.maximum(exact + rng.normal(0, deviation, len(exact)), 0)
        if not noisy.any():
            noisy += 1
        if size:
            rare = noisy < 3 * deviation
            bin_of = np.where(rare, 0, np.cumsum(~rare) - (not rare.any()))
        else:
            middles = (noisy.cumsum() - noisy / 2) / noisy.sum()
            bin_of = np.unique((middles * n_bins).astype(int), return_inverse=True)[1]
        return cls(low, high, size > 0, bin_of, noisy)

    @property
    def shares(self) -> np.ndarray:
        """Return the share of each bin."""
        sums = np.bincount(self.bin_of, self.weights)
        return sums / sums.sum()

    def cells(self, values: np.ndarray) -> np.ndarray:
        if self.categorical:
            return values.astype(int)
        width = max(self.high - self.low, 1e-12) / len(self.bin_of)
        return np.clip((values - self.low) // width, 0, len(self.bin_of) - 1).astype(int)

    def encode(self, values: np.ndarray) -> np.ndarray:
        return self.bin_of[self.cells(values)]

    def decode(self, bins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a value for each bin: a cell by its noisy count, in a number's cell anywhere."""
        weights = self.weights + 1e-9
        order = np.argsort(self.bin_of, kind="stable")
        ends = weights[order].cumsum()
        sums = np.bincount(self.bin_of, weights)
        starts = np.concatenate([[0], sums.cumsum()[:-1]])
        place = starts[bins] + rng.random(len(bins)) * sums[bins]
        cells = order[np.minimum(np.searchsorted(ends, place), len(order) - 1)]
        if self.categorical:
            return cells.astype(float)
        width = (self.high - self.low) / len(self.bin_of)
        return self.low + (cells + rng.random(len(cells))) * width

"""Random bits: the operating system's secure source, or a seed for tests and papers."""

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# A refill that stays in the L2 cache; larger ones only cost memory.
_LARGEST_REFILL_WORDS = 1 << 15


class RandomBits:
    """A source of independent uniform 64-bit words.

    Parameters
    ----------
    seed : int, numpy.random.SeedSequence or None, default=None
        None reads the operating system's secure randomness. A seed makes the stream repeatable,
        for tests and papers: whoever knows the seed can subtract the noise, so a seeded release
        protects nobody.

    Examples
    --------
    >>> RandomBits().reproducible
    False
    >>> bool((RandomBits(7).words(3) == RandomBits(7).words(3)).all())
    True
    """

    def __init__(self, seed: int | np.random.SeedSequence | None = None) -> None:
        self._generator = None if seed is None else np.random.Philox(seed)

    @property
    def reproducible(self) -> bool:
        """Whether a seed fixes the stream (then it is not for release)."""
        return self._generator is not None

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next `n` words of the stream."""
        if self._generator is None:
            return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)
        return np.asarray(self._generator.random_raw(n), dtype=np.uint64)

    def uniform_below(self, m: int, size: int) -> NDArray[np.int64]:
        """Draw `size` integers uniform on 0, ..., m - 1, exactly.

        Words are cut to the bit length of m - 1 and those not below m are thrown away, so every
        value that stays is equally likely.

        Examples
        --------
        >>> set(RandomBits().uniform_below(2, size=1000).tolist()) == {0, 1}
        True
        """
        if not 1 <= m <= 1 << 62:
            raise ValueError(f"m must lie between 1 and 2**62, got {m}.")
        shift = np.uint64(64 - max(1, (m - 1).bit_length()))
        kept: list[NDArray[np.int64]] = []
        missing = size
        while missing > 0:
            values = (self.words(2 * missing) >> shift).astype(np.int64)
            kept.append(values[values < m][:missing])
            missing -= kept[-1].size
        return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)

    def feed(
        self,
        kernel: Callable[[NDArray[np.uint8], int], tuple[int, int]],
        n_draws: int,
        bytes_per_draw: int,
    ) -> None:
        """Run a sampling kernel to the end, handing it fresh bytes as it needs them.

        ``kernel(buffer, done)`` continues after `done` finished draws and returns how many are
        finished and how many bytes they took. A draw cut short by the end of the buffer is
        replayed from *the same* bytes followed by fresh ones. Fresh bytes alone would be wrong:
        they would give the draws that need many bytes a second throw.
        """
        done, tail = 0, np.empty(0, dtype=np.uint8)
        while done < n_draws:
            wanted = (n_draws - done) * bytes_per_draw // 8 + 8
            fresh = self.words(min(wanted, _LARGEST_REFILL_WORDS)).view(np.uint8)
            buffer = np.concatenate([tail, fresh])
            done, used = kernel(buffer, done)
            tail = buffer[used:]

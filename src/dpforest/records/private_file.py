"""A file for private data: without a name, for its owner only, gone with the process.

It lies in the folder that ``DPFOREST_TMPDIR`` names, else in that of other temporary files. It has
no name from the start (``O_TMPFILE``, mode 0600; where a system lacks that, its name is taken away
at once), so that nothing is left of it however the process ends. With ``DPFOREST_TMP_ENCRYPT=1``
it is encrypted with AES-256 in counter mode, under a key that is drawn for this file and kept in
memory only; no counter is used twice, also where bytes are written over others.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from numpy.typing import NDArray

FOLDER, ENCRYPT = "DPFOREST_TMPDIR", "DPFOREST_TMP_ENCRYPT"
PAGE = 4096


class PrivateFile:
    """Arrays in a private file, at places that are reserved for them.

    ``close()`` gives the disk back; so does dropping the object.
    """

    def __init__(self) -> None:
        encrypted = os.environ.get(ENCRYPT, "") not in ("", "0")
        self._cipher = Cipher() if encrypted else None
        folder = os.environ.get(FOLDER) or tempfile.gettempdir()
        try:
            self._file = tempfile.TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115
        except OSError as error:
            raise OSError(
                f"no temporary file can be made in {folder}: {error.strerror}; name a folder for "
                f"private data with {FOLDER}"
            ) from None
        self.close = weakref.finalize(self, self._file.close)
        self._end = 0

    def reserve(self, n_bytes: int) -> int:
        """A place for so many bytes."""
        place, self._end = self._end, self._end + PAGE * -(-n_bytes // PAGE)
        return place

    def write(self, array: NDArray[Any], place: int) -> None:
        """Write the bytes of an array at a place, in the order in which they lie in memory."""
        view = _bytes_of(array)
        if self._cipher is not None:
            view = self._cipher.encrypt(view, place)
        done = 0
        while done < len(view):
            done += os.pwrite(self._file.fileno(), view[done:], place + done)

    def read(self, array: NDArray[Any], place: int) -> None:
        """Fill an array with the bytes that were written at a place."""
        view = _bytes_of(array)
        done = 0
        while done < len(view):
            n = os.preadv(self._file.fileno(), [view[done:]], place + done)
            if not n:
                raise OSError("the private temporary file is shorter than what was written to it")
            done += n
        if self._cipher is not None:
            view[:] = self._cipher.decrypt(view, place)

    def expect(self, n_bytes: int, place: int) -> None:
        """Tell the system, where it listens, that so many bytes will be read soon."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), place, n_bytes, os.POSIX_FADV_WILLNEED)


class Cipher:
    """AES-256 in counter mode, each writing with counters of its own."""

    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:
            raise ImportError(
                f"{ENCRYPT} needs cryptography: pip install 'dpforest[sign]'"
            ) from None
        key = algorithms.AES(os.urandom(32))
        self._stream: Callable[[bytes], Any] = lambda at: Cipher(key, modes.CTR(at)).encryptor()
        self._writings = count()
        self._written: dict[int, int] = {}  # by place

    def encrypt(self, view: memoryview, place: int) -> memoryview:
        """The encrypted bytes of a new writing at a place."""
        self._written[place] = next(self._writings)
        return self.decrypt(view, place)

    def decrypt(self, view: memoryview, place: int) -> memoryview:
        """The bytes as they were before they were encrypted."""
        nonce = self._written[place].to_bytes(8) + bytes(8)
        return memoryview(self._stream(nonce).update(view))


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """The memory of an array in one piece, whichever way its bytes are ordered."""
    return (array if array.flags.c_contiguous else array.T).data.cast("B")

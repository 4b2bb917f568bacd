"""The fits of one replay: one that is recorded, and others that must follow it."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.audit.chains import UnfinishedError
from dpforest.audit.replay_draws import ForcedDraws, PartedError, RecordingDraws
from dpforest.audit.replay_losses import CERTAIN, Loss
from dpforest.audit.replay_script import Joining, Sample, Script, Seats
from dpforest.audit.shown import Shown
from dpforest.audit.worlds import Table
from dpforest.exceptions import NoGuaranteeWarning

Run = Callable[[Table, RecordingDraws], Shown]
"""Anything that is done with a table and draws, such as a chain of fits, and what it shows."""

MOST_ODD = 4  # odd records in samples: all their subsets are fitted


@dataclass(frozen=True)
class Record:
    """A fit: what was drawn, and what it shows."""

    script: Script
    shown: Shown


class Play:
    """Fits of one replay, of which the first is recorded.

    Parameters
    ----------
    run : callable
    common : int
        Records that the tables share.
    most : int, optional
        Records of a person that are kept.
    seed : int
    """

    def __init__(self, run: Run, common: int, most: int | None, seed: int) -> None:
        self._run, self._common, self._most, self._seed = run, common, most, seed
        self.followed: Script | None = None

    def fit(self, table: Table, joining: Joining | None = None) -> Record:
        """Record a fit, or force the outputs of the one that is followed."""
        seats = Seats(len(table.y), self._common, self._most)
        draws = (
            RecordingDraws(self._seed, seats)
            if self.followed is None
            else ForcedDraws(self._seed + 1, seats, joining or Joining(), self.followed)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoGuaranteeWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # "fit failed after it had spent ..."
            shown = self._attempt(table, draws)
        return Record(draws.script, shown)

    def _attempt(self, table: Table, draws: RecordingDraws) -> Shown:
        try:
            shown = self._run(table, draws)
            if isinstance(draws, ForcedDraws):
                draws.refuse_less()
        except (PartedError, UnfinishedError):
            raise
        except Exception as error:
            if not draws.script.releases:
                raise  # refused before anything was released
            if not isinstance(draws, ForcedDraws):
                error.add_note(f"it had made {len(draws.script.releases)} releases")
                raise
            kind = type(error).__name__
            raise PartedError(f"the fit fails with the neighbour only: {kind}") from error
        return shown

    def compare(
        self, record: Record, table: Table, neighbour: Table
    ) -> tuple[Loss, list[Loss], list[str]]:
        """The loss in all, that of each release, and what leaks for certain."""
        leaks: list[str] = []
        try:
            other = self.fit(neighbour)
            leaks += _leaks(record, other)
            each = record.script.losses_to(other.script)
            alone = sum(each, Loss())
            loss = alone
            for t, (mine, its) in enumerate(
                zip(record.script.samples, other.script.samples, strict=True)
            ):
                tells = self._mixture(record, neighbour, its, t, alone, each, leaks)
                told = self._mixture(record, table, mine, t, Loss(), each, leaks)
                loss += Loss(tells.path - told.path, tells.up + told.down, tells.down + told.up)
        except PartedError as parted:
            return CERTAIN, [], [str(parted)]
        return (CERTAIN if leaks else loss), each, leaks

    def _mixture(
        self,
        record: Record,
        table: Table,
        sample: Sample,
        t: int,
        alone: Loss,
        each: list[Loss],
        leaks: list[str],
    ) -> Loss:
        """What a tree tells of a table's odd records, over their coins, against none of them."""
        parts: list[tuple[float, Loss]] = []
        for chance, who in _subsets(sample):
            if not any(who):
                parts.append((chance, Loss()))
                continue
            fitted = self.fit(table, Joining(t, who))
            leaks += [leak for leak in _leaks(record, fitted) if leak not in leaks]
            losses = record.script.losses_to(fitted.script)
            parts.append((chance, sum(losses, Loss()) - alone))
            each[:] = [
                max(pair, key=lambda loss: loss.largest) for pair in zip(each, losses, strict=True)
            ]
        return Loss(
            _log_mean([(c, loss.path) for c, loss in parts]),
            _log_mean([(c, loss.up) for c, loss in parts]),
            -_log_mean([(c, -loss.down) for c, loss in parts]),
        )


def _subsets(sample: Sample) -> Iterator[tuple[float, tuple[bool, ...]]]:
    """All ways in which odd records can join a sample, with their probabilities."""
    chances = sample.odd_chances
    if len(chances) > MOST_ODD:
        raise ValueError(
            f"tables with more than {MOST_ODD} odd records cannot be replayed where trees draw "
            "samples: use fewer records a person"
        )
    for who in itertools.product((False, True), repeat=len(chances)):
        chance = math.prod(p if joins else 1 - p for p, joins in zip(chances, who, strict=True))
        if chance:
            yield float(chance), who


def _log_mean(parts: Sequence[tuple[float, Any]]) -> float:
    """The logarithm of the sum of chance * exp(value)."""
    return float(np.logaddexp.reduce([math.log(chance) + float(value) for chance, value in parts]))


def _leaks(record: Record, other: Record) -> list[str]:
    return [
        f"{name} differs though all outputs are the same"
        for name in record.shown.differences(other.shown)
    ]

"""Replay under random settings: every estimator with its options, neighbours, persons, containers.

``python -m dpforest.audit.fuzz --settings 5000 --seed 0`` replays so many and prints what was
found; ``--only 17`` shows one of them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dpforest.audit.fuzz_settings import Setting, draw_setting
from dpforest.audit.replay_report import ReplayReport


@dataclass
class Tally:
    """What the replays of one estimator found."""

    n_held: int = 0
    n_refused: int = 0
    n_failed: int = 0
    worst: float = 0.0
    tightest: int = -1


@dataclass
class FuzzReport:
    """What many replays found.

    Parameters
    ----------
    seed : int
    estimators : dict
        By name: how many held, how many were refused before anything was spent, how many of those
        that held failed after a release, the largest possible loss over the claim, and the number
        of the setting that has it.
    broken : dict from int to str
        Settings in which a claim did not hold.
    refusals : Counter
        Why settings were refused, or failed after a release.
    """

    seed: int
    estimators: dict[str, Tally] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def n_replayed(self) -> int:
        """Settings that were replayed to the end."""
        return sum(tally.n_held for tally in self.estimators.values()) + len(self.broken)

    @property
    def n_refused(self) -> int:
        """Settings whose input was refused before anything was spent."""
        return sum(tally.n_refused for tally in self.estimators.values())

    @property
    def holds(self) -> bool:
        """Whether every claim held."""
        return not self.broken

    def add(self, number: int, setting: Setting) -> None:
        """Replay one more setting."""
        tally = self.estimators.setdefault(setting.name, Tally())
        try:
            report = _quietly(setting.replay)
        except Exception as error:
            if hasattr(error, "__notes__") or not isinstance(error, TypeError | ValueError):
                self.broken[number] = f"{setting}\nfailed: {error!r}"
                return
            tally.n_refused += 1
            self.refusals[f"{type(error).__name__}: {str(error)[:60]}"] += 1
            return
        if not report.holds:
            self.broken[number] = f"{setting}\n{report}"
            return
        tally.n_held += 1
        if report.failure:
            tally.n_failed += 1
            self.refusals[f"after a release: {report.failure[:60]}"] += 1
        if report.tightness > tally.worst:
            tally.worst, tally.tightest = report.tightness, number

    def table(self) -> str:
        """A row for each estimator, in Markdown."""
        lines = [
            "| estimator | replayed | of these failed | refused | largest loss / claim | setting |",
            "|---|---|---|---|---|---|",
        ]
        for name, tally in sorted(self.estimators.items()):
            worst = f"{tally.worst:.9f} | {tally.tightest}"
            counts = f"{tally.n_held:,} | {tally.n_failed:,} | {tally.n_refused:,}"
            lines.append(f"| `{name}` | {counts} | {worst} |")
        return "\n".join(lines)

    def __str__(self) -> str:
        """What was found, in lines."""
        verdict = "all hold" if self.holds else f"{len(self.broken)} BROKEN"
        counts = f"{self.n_replayed:,} settings replayed, {self.n_refused:,} refused"
        parts = [f"seed {self.seed}: {counts}: {verdict}", self.table()]
        return "\n".join([*parts, *(f"setting {n}: {text}" for n, text in self.broken.items())])


def fuzz(
    n_settings: int, seed: int = 0, tick: Callable[[int], None] = lambda done: None
) -> FuzzReport:
    """Replay random settings until so many were replayed; those that are refused do not count.

    Examples
    --------
    >>> fuzz(3, seed=1).holds
    True
    """
    report = FuzzReport(seed)
    number = 0
    while report.n_replayed < n_settings:
        report.add(number, draw_setting(seed, number))
        number += 1
        tick(1)
    return report


def _quietly(work: Callable[[], ReplayReport]) -> ReplayReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz, and print what was found; exit with 1 if a claim is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="show the setting of this number")
    asked = parser.parse_args(arguments)
    if asked.only is not None:
        setting = draw_setting(asked.seed, asked.only)
        print(setting, _quietly(setting.replay), sep="\n")
        return
    report = fuzz(asked.settings, asked.seed)
    print(report)
    _print_refusals(report.refusals.most_common(12))
    sys.exit(0 if report.holds else 1)


def _print_refusals(refusals: Iterable[tuple[str, int]]) -> None:
    for reason, times in refusals:
        print(f"refused {times} times: {reason}")


if __name__ == "__main__":
    main()

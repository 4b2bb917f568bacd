"""The long audit, ``make audit``: everything at once, written down as a page of the docs."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from dpforest.audit.controls import controls
from dpforest.audit.controls_replay import ReplayControl, replay_controls
from dpforest.audit.controls_search import search_controls
from dpforest.audit.distinguish import audit
from dpforest.audit.exhaustive import exhaust
from dpforest.audit.floating import attack_floating_point
from dpforest.audit.fuzz import fuzz
from dpforest.audit.games import Tick
from dpforest.audit.mechanisms import laplace_count
from dpforest.audit.membership import membership_inference
from dpforest.audit.replay_report import ReplayReport
from dpforest.audit.report import AuditReport
from dpforest.audit.searches import worst_gaussian_stopping, worst_pure_stopping
from dpforest.audit.small import small_estimators
from dpforest.exceptions import LittleSignalWarning
from dpforest.forests.random import RandomDecisionForestClassifier
from dpforest.privacy.accounts.stopping import Stopping
from dpforest.progress import Bar
from dpforest.schema import Schema
from dpforest.schema.features import CategoricalFeature, Target

EPSILONS = (0.1, 1.0, 4.0)
NEIGHBORS = ("add_remove", "replace_one")
POWER_TRIALS = 100_000
CONTROL_TRIALS = 100_000
FITTED_TRIALS = 2_000  # of controls that fit a forest
INTRODUCTION = """\
# Audit report

Written by `make audit`, here with `--trials {trials} --settings {settings}`; every figure is from
that run. What the columns mean, and what an audit can and cannot show, is said in
[Auditing](auditing.md).

An audit that finds no leak proves none away: the bound is a *lower* bound on the true epsilon.
"""

ESTIMATORS_TABLE = """\
## Every estimator, {trials:,} fits each

| estimator | neighbours | claimed | at least | tables | verdict | fits a minute |
|---|---|---|---|---|---|---|"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the suite and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20_000, help="fits of each estimator")
    parser.add_argument("--settings", type=int, default=5_000, help="that are replayed")
    parser.add_argument("--report", type=Path, default=Path("docs/audit.md"))
    asked = parser.parse_args(arguments)
    sections = [INTRODUCTION.format(trials=asked.trials, settings=asked.settings)]
    with Bar("auditing", alone=True) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", LittleSignalWarning)  # tables are small on purpose
        for section in _sections(asked, bar.advance):
            sections.append(section)
            asked.report.write_text("\n".join(sections) + "\n", encoding="utf-8")


def _sections(asked: argparse.Namespace, tick: Tick) -> Iterator[str]:
    yield _power(tick)
    yield _controls(tick)
    yield _floating_point()
    yield _exhaustive()
    yield replays(asked.settings, tick)
    yield searches()
    report = membership_inference()
    report.plot(asked.report.parent / "membership.png")
    yield (
        "## Membership inference\n\n"
        f"```\n{report}\n```\n\n![Members found against strangers accused](membership.png)\n"
    )
    yield ESTIMATORS_TABLE.format(trials=asked.trials)
    yield from _estimators(asked.trials, tick)


def _power(tick: Tick) -> str:
    report = audit(laplace_count(1.0), trials=POWER_TRIALS, random_state=0, progress=tick)
    return f"## Power: a plain Laplace count\n\n```\n{report}\n```\n"


def _controls(tick: Tick) -> str:
    lines = [
        "## Broken mechanisms, each of which must be caught\n",
        "| control | flaw | claimed | at least | verdict | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, control in controls().items():
        fits = FITTED_TRIALS if name.endswith("from-data") else CONTROL_TRIALS
        start = time.perf_counter()
        report = audit(control, trials=fits, random_state=0, progress=tick)
        seconds = time.perf_counter() - start
        flaw = getattr(control, "flaw", "")
        lines.append(f"| {name} | {flaw} | {_figures(report)} | {report.verdict} | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


def _floating_point() -> str:
    lines = [
        "## The low bits\n",
        "| attacked | claimed | at least | verdict |",
        "|---|---|---|---|",
    ]
    for ours in (True, False):
        report = attack_floating_point(ours=ours, random_state=0)
        lines.append(f"| {report.name} | {_figures(report)} | {report.verdict} |")
    return "\n".join(lines) + "\n"


def _exhaustive() -> str:
    two = Schema(
        (CategoricalFeature("a", (0, 1)), CategoricalFeature("b", (0, 1))), Target(classes=(0, 1))
    )
    one = Schema(two.features[:1], two.target)
    parts = ["## Proofs by enumeration\n"]
    for schema, most, options in (
        (two, 4, {"leaves": "label"}),
        (two, 4, {"leaves": "counts"}),
        (two, 3, {"leaves": "label", "neighbors": "replace_one"}),
        (one, 4, {"leaves": "label", "sampling": "disjoint", "max_depth": 1}),
    ):
        settings: dict[str, Any] = {"n_estimators": 2, "max_depth": 2, "random_state": 3, **options}
        forest = RandomDecisionForestClassifier(epsilon=0.7, schema=schema, **settings)
        records = list(product((0, 1), repeat=len(schema.features) + 1))
        parts.append(f"`{options}`:\n\n```\n{exhaust(forest, records, most=most)}\n```\n")
    return "\n".join(parts)


def replays(n_settings: int, tick: Tick) -> str:
    """The section about replays: controls, and random settings of everything."""
    lines = ["## Replay\n", "The library broken on purpose, one thing at a time:\n"]
    lines += _broken(replay_controls())
    found = fuzz(n_settings, seed=0, tick=tick)
    broken = f"**{len(found.broken)}**" if found.broken else "none"
    lines.append(
        f"\n{found.n_replayed:,} random settings were replayed (seed {found.seed}), "
        f"{found.n_refused:,} more were refused before anything was spent, or had a paid schema of "
        f"which too little stood out; {broken} lost more than was claimed by 1e-9 or more.\n"
    )
    lines.append(found.table() + "\n")
    return "\n".join(lines)


def searches() -> str:
    """The section about searches: controls, and the exact law of the best of many trials."""
    lines = ["## Searches\n", *_broken(search_controls())]
    lines.append("\nThe best of a random number of trials, exactly, for trials as bad as can be:\n")
    lines.append("```")
    for eta, odds in product(map(Fraction, ("0", "1/2", "1")), (2, 20, 100)):
        law = Stopping(eta, odds)
        lines.append(f"{worst_pure_stopping(law, law.trial_epsilon(1.0))} [epsilon]")
        mu = law.trial_mu(1.0, 1e-6)
        lines.append(f"{worst_gaussian_stopping(law, mu, 1.0)} [delta at epsilon 1]")
    return "\n".join([*lines, "```\n"])


def _broken(listed: dict[str, ReplayControl]) -> list[str]:
    """A table of controls."""
    rows = [
        f"| {name} | {control.flaw} | {_replayed(control.replay())} |"
        for name, control in listed.items()
    ]
    head = "| control | flaw | claimed | largest loss | verdict |"
    return [head, "|---|---|---|---|---|", *rows]


def _replayed(report: ReplayReport) -> str:
    verdict = "held, though broken" if report.holds else "caught"
    if report.leaks:
        return f"{report.pure_claim:.3g} | infinite: {report.leaks[0]} | {verdict}"
    if report.mu:
        return f"mu = {report.mu_claim:.3g} | mu = {report.mu:.3g} | {verdict}"
    if report.delta > report.delta_claim:
        return f"delta = {report.delta_claim:.3g} | delta = {report.delta:.3g} | {verdict}"
    return f"{report.pure_claim:.3g} | {report.largest_pure_loss:.3g} | {verdict}"


def _estimators(trials: int, tick: Tick) -> Iterator[str]:
    """The rows of the table, one by one: the page grows as the audit goes on."""
    for epsilon, neighbors in product(EPSILONS, NEIGHBORS):
        for label, estimator in small_estimators(epsilon=epsilon, neighbors=neighbors):
            start = time.process_time()
            report = audit(estimator, trials=trials, random_state=0, progress=tick)
            speed = 60.0 * trials / (time.process_time() - start)
            yield (
                f"| `{label}` | {neighbors} | {_figures(report)} | {report.pair} | "
                f"{report.verdict} | {speed:,.0f} |"
            )


def _figures(report: AuditReport) -> str:
    return f"{report.claim.epsilon:.3g} | {report.lower_bound:.3g}"


if __name__ == "__main__":
    main()

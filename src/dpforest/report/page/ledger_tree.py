"""The ledger as a tree to open: every release, what it was made of and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction

from dpforest.privacy.accounts.guarantee import pair
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.spends import Cost, Entry, Spend, rounded_up
from dpforest.privacy.accounts.stages import Stage
from dpforest.privacy.accounts.writing import runs_of_equal
from dpforest.report.page.charts import meter
from dpforest.report.page.markup import Child, Html, joined, short, tag

MOST_ENTRIES = 300  # that one level of the tree shows
MU = (
    "mu measures Gaussian noise: sensitivity over standard deviation. The squares of all mu add "
    "up, and the exact curve of Gaussian noise turns their sum into epsilon at a delta."
)
RULES = {
    "sequential": "one after the other: what they cost adds up",
    "parallel": "on disjoint records: the largest counts",
}
STAGES = {
    "schema": "Schema, paid for",
    "fit": "Training",
    "continued fit": "Training, continued",
    "failed fit": "Training that failed",
    "evaluation": "Evaluation",
}


def ledger_section(ledger: Ledger) -> Html:
    """The whole account: a stage a budget, and below it what was released."""
    spent = pair(ledger.epsilon, ledger.delta)
    several = len(ledger.stages) > 1
    together = f"{len(ledger.stages)} stages, which add up to {spent}." if several else ""
    notes = [tag("li", short(note, 400)) for note in ledger.notes]
    return joined(
        [
            tag(
                "p",
                "Every line is one release, or several under one rule. Each was entered here "
                "before the records were read for it, and never more than the budget. ",
                together,
            ),
            tag("p", MU, class_="small")
            if any(s.total.mu_squared for s in ledger.stages)
            else None,
            tag("div", *(_stage(stage) for stage in ledger.stages), class_="tree"),
            tag("ul", *notes, class_="small") if notes else None,
        ]
    )


def _stage(stage: Stage) -> Html:
    line = _line(
        STAGES[stage.kind],
        pair(stage.epsilon, stage.delta)[1:-1],
        f"of a budget of {pair(stage.budget_epsilon, stage.budget_delta)[1:-1]}; "
        f"{stage.argument()}",
    )
    return tag("details", tag("summary", line), *_entries(stage), open=True)


def _entries(stage: Stage) -> Iterator[Child]:
    folded = list(runs_of_equal(stage.entries))
    for entry, times in folded[:MOST_ENTRIES]:
        yield _entry(entry, times, _share(entry.cost(), times, stage.total), level=1)
    if len(folded) > MOST_ENTRIES:
        more = sum(times for _, times in folded[MOST_ENTRIES:])
        yield tag("p", f"… and {more} more entries; the model file has them all.", class_="small")


def _entry(entry: Entry, times: int, share: float | None, level: int) -> Html:
    """A line for an entry, or for so many equal ones."""
    cost, alike = str(entry.cost()), ""
    if times > 1:
        cost, alike = f"{cost} each", f"{times:,} times: "
    if isinstance(entry, Spend):
        line = _line(entry.label, cost, alike + entry.mechanism, share, _made(entry))
        return tag("div", line, class_="spend")
    copies = f"{entry.times:,} times, " if entry.times > 1 else ""
    line = _line(entry.label, cost, alike + copies + RULES[entry.rule], share)
    folded = list(runs_of_equal(entry.parts))
    parts = [_entry(part, n, None, level + 1) for part, n in folded[:MOST_ENTRIES]]
    if len(folded) > MOST_ENTRIES:
        more = sum(n for _, n in folded[MOST_ENTRIES:])
        parts.append(tag("p", f"… and {more} more.", class_="small"))
    return tag("details", tag("summary", line), *parts, open=level < 2)


def _line(label: str, cost: str, how: str, share: float | None = None, made: str = "") -> Html:
    told = "" if share is None else f" · {100 * share:.1f}% of what was spent"
    return tag(
        "span",
        tag(
            "span",
            short(label),
            tag("span", how + told, class_="how"),
            tag("span", made, class_="how") if made else None,
            None if share is None else meter(share),
        ),
        tag("span", cost, class_="cost"),
        class_="line",
    )


def _made(spend: Spend) -> str:
    """The parameters of a mechanism, from which its cost follows."""
    if spend.made is None:
        return ""
    parts = [
        f"{part.name.replace('_', ' ')} {_plain(getattr(spend.made, part.name))}"
        for part in fields(spend.made)
        if isinstance(getattr(spend.made, part.name), int | float | Fraction)
    ]
    return short(f"follows from {', '.join(parts)}") if parts else ""


def _plain(value: float | Fraction) -> str:
    return rounded_up(value) if value >= 0 else f"{float(value):.6g}"


def _share(cost: Cost, times: int, total: Cost) -> float | None:
    """The share of so many costs in that of a stage, where there is one kind of loss only."""
    if math.inf in (total.epsilon, total.mu_squared) or (total.epsilon and total.mu_squared):
        return None
    if total.mu_squared:
        return float(times * Fraction(cost.mu_squared) / Fraction(total.mu_squared))
    if not total.epsilon:
        return None
    return float(times * Fraction(cost.epsilon) / Fraction(total.epsilon))

"""The budget of the table: its total, what is left, every use, and whether its file is in order."""

from __future__ import annotations

from dpforest.privacy.accounts.budget import Budget
from dpforest.privacy.accounts.budget_entries import BudgetEntry
from dpforest.privacy.accounts.guarantee import pair
from dpforest.report.page.facts import ReportFacts
from dpforest.report.page.markup import (
    Child,
    Html,
    joined,
    moment,
    number,
    short,
    table,
    tag,
    terms,
)

MOST_USES = 200


def budget_section(facts: ReportFacts) -> Html:
    """The account, with this model's line marked."""
    budget = facts.budget
    if budget is None:
        return tag(
            "p",
            "No budget was given with this report. Models trained on the same records add up: two "
            "of epsilon 1 are one of epsilon 2. A shared budget keeps that sum and refuses what "
            "exceeds it: dpforest budget.",
        )
    uses = budget.history()
    shown = uses[-MOST_USES:]
    digest = None if facts.file is None else facts.file.digest
    here = [i for i, use in enumerate(shown) if digest is not None and use.model == digest]
    return joined(
        [
            _totals(budget),
            _state(budget, bool(here), digest),
            table(
                ("Use", "Asked for", "State"),
                [_row(use) for use in shown],
                marked=here,
            )
            if shown
            else tag("p", "Nothing was spent of it yet."),
            tag("p", f"The latest {MOST_USES} of {len(uses):,} uses.", class_="small")
            if len(uses) > MOST_USES
            else None,
        ]
    )


def _totals(budget: Budget) -> Html:
    told = budget.to_dict()
    left = told["remaining"]
    return terms(
        [
            ("Table", short(told["table"])),
            ("Total", pair(budget.epsilon, budget.delta)[1:-1]),
            ("Protects", told["protects"]),
            ("Left for one more use", f"epsilon = {number(left['gaussian'])} with the budget's "
                f"delta, or {number(left['pure'])} without delta"),
            ("Opened", f"{moment(told['created'])} by {short(told['creator'])}"),
        ]
    )  # fmt: skip


def _state(budget: Budget, found: bool, digest: str | None) -> Html:
    problems = budget.check()
    if problems:
        listed = tag("ul", *(tag("li", short(each, 300)) for each in problems))
        title = tag("strong", "The file of the budget is not in order")
        return tag("div", title, listed, class_="verdict bad", role="note")
    told = "Checked: every use follows from its releases, and all sums fit."
    if found:
        told += " The line of this model is marked."
    elif digest is not None:
        told += " This model is not among its uses: it was paid for otherwise, if at all."
    return tag("p", told)


def _row(use: BudgetEntry) -> tuple[Child, ...]:
    digest = None if use.model is None else tag("code", use.model[:12])
    by = f"{short(use.who)}, {moment(use.began)}"
    told = joined([by, digest], between=", ")
    return (
        joined([f"{use.number}. {short(use.what)}", tag("span", told, class_="how")]),
        pair(use.epsilon, use.delta)[1:-1],
        use.state,
    )

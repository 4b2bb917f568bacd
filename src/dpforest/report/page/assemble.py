"""The page: its sections in the order a privacy officer reads them."""

from __future__ import annotations

from collections.abc import Iterator

from dpforest.report.page.facts import ReportFacts
from dpforest.report.page.ledger_tree import ledger_section
from dpforest.report.page.limits import decision_section, limits_section
from dpforest.report.page.markup import Html, short, tag
from dpforest.report.page.model import card_section, learnt_section, origin_section
from dpforest.report.page.promise import guarantee_section, summary, verdict, who_section
from dpforest.report.page.public import public_section
from dpforest.report.page.quality import quality_section
from dpforest.report.page.spending import budget_section
from dpforest.report.page.styles import stylesheet

# Nothing may be loaded or run, whatever somebody smuggles in: only the style that is here.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
FOOT = (
    "Made from released numbers and public facts alone: no record was read for this page. It loads "
    "nothing and runs no script."
)


def _sections(facts: ReportFacts) -> Iterator[tuple[str, str, Html]]:
    yield "guarantee", "The guarantee in plain words", guarantee_section(facts)
    yield "who", "Who is protected", who_section(facts)
    yield "public", "What was declared public", public_section(facts)
    yield "ledger", "What was spent", ledger_section(facts.ledger)
    yield "origin", "Where it comes from", origin_section(facts)
    yield "model", "The model", card_section(facts)
    yield "learnt", "What it learnt", learnt_section(facts)
    yield "quality", "How good it is", quality_section(facts)
    yield "budget", "The budget of the table", budget_section(facts)
    yield "limits", "What the promise does not cover", limits_section()
    yield "decision", "Decision", decision_section(facts)


def page(facts: ReportFacts) -> str:
    """Return the report as one HTML page that needs nothing else."""
    sections = list(_sections(facts))
    contents = (tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in sections)
    body = (
        tag("section", tag("h2", title), made, id=name, class_=name)
        for name, title, made in sections
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", f"Privacy report: {_title(facts)}"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(stylesheet())),
    )
    sheet = tag(
        "div",
        tag(
            "header",
            tag("p", "Privacy report", class_="kicker"),
            tag("h1", _title(facts)),
            tag("p", _subtitle(facts), class_="muted"),
        ),
        tag(
            "div",
            tag("nav", tag("ol", *contents), aria_label="Contents"),
            tag("main", verdict(facts), summary(facts), *body),
            class_="body",
        ),
        tag("footer", tag("p", FOOT)),
        class_="sheet",
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", sheet), lang="en") + "\n"


def _title(facts: ReportFacts) -> str:
    target = facts.schema.target
    return "Model" if target is None else f"Model of {short(target.name, 60)}"


def _subtitle(facts: ReportFacts) -> str:
    table = f" trained on {short(facts.table, 80)}" if facts.table else ""
    return f"{facts.estimator}{table}, reported on {facts.made} by dpforest {facts.library}"

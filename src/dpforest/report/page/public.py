"""What was declared public: the schema, folded, and what it cost where it was paid for."""

from __future__ import annotations

from collections.abc import Sequence

from dpforest.privacy.accounts.guarantee import pair
from dpforest.report.page.facts import ReportFacts
from dpforest.report.page.markup import Html, folded, joined, number, short, table, tag
from dpforest.schema import NumericFeature, Target
from dpforest.schema.features import Feature

MOST_FEATURES = 300
MOST_VALUES = 40


def public_section(facts: ReportFacts) -> Html:
    """The schema: what an attacker is taken to know already."""
    schema = facts.schema
    rows = [(short(f.name), *_described(f)) for f in schema.features[:MOST_FEATURES]]
    left_out = schema.n_features - len(rows)
    more = f"… and {left_out:,} more features, which the model file lists." if left_out else None
    return joined(
        [
            tag("p", _whence(facts)),
            tag(
                "p",
                "Everything in this list counts as known to everybody: names of columns, bounds, "
                "categories, classes. The guarantee does not protect it. Check that each line "
                "could have been written by somebody who has not seen the table.",
            ),
            tag("p", tag("b", "To be predicted: "), _target(schema.target)),
            folded(
                f"The schema: {schema.n_features:,} features",
                table(("Feature", "Kind", "Declared values"), rows),
                more and tag("p", more, class_="small"),
            ),
        ]
    )


def _whence(facts: ReportFacts) -> str:
    paid = facts.schema.ledger
    if paid is not None:
        return (
            "The schema was read from the table through noise and paid for: "
            f"{pair(paid.epsilon, paid.delta)[1:-1]}, which is part of the total. Names of "
            "columns, and types and categories that were declared beforehand, count as public."
        )
    if facts.ledger.guarantee is None:
        return (
            "The schema says what was taken as known. If it was read off the records, which the "
            "reasons above then say, its bounds and categories are private."
        )
    return (
        "The schema was declared by the analyst, who vouches that it was written without a look at "
        "the records: no ledger can check that."
    )


def _target(target: Target | None) -> str:
    if target is None:
        return "no target was declared"
    if target.classes is None:
        return f"{short(target.name)}, a number from {number(target.low)} to {number(target.high)}"
    return f"{short(target.name)}, one of {len(target.classes)} classes: {_listed(target.classes)}"


def _described(feature: Feature) -> tuple[str, str]:
    if not isinstance(feature, NumericFeature):
        return f"{len(feature.categories)} categories", _listed(feature.categories)
    kind = "whole number" if feature.integer else "number"
    bounds = f"{number(feature.low)} to {number(feature.high)}"
    cuts = "" if feature.cuts is None else f", {len(feature.cuts)} declared cuts"
    return kind, bounds + cuts


def _listed(values: Sequence[object]) -> str:
    listed = ", ".join(short(value, 60) for value in values[:MOST_VALUES])
    left_out = len(values) - MOST_VALUES
    return listed if left_out <= 0 else f"{listed}, … and {left_out:,} more"

"""How good the model is: the figures of a paid evaluation, each with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpforest.privacy.accounts.guarantee import pair
from dpforest.privacy.accounts.ledger import Ledger
from dpforest.report.page.charts import Plot
from dpforest.report.page.facts import ReportFacts
from dpforest.report.page.ledger_tree import ledger_section
from dpforest.report.page.markup import Child, Html, folded, joined, number, short, table, tag

MOST_CLASSES = 40
MOST_IN_MATRIX = 12
HEADINGS = {
    "n_records": "Records, about",
    "accuracy": "Accuracy",
    "auc": "Area under the ROC curve",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "r2": "R2",
    "mse": "Mean squared error",
    "mae": "Mean absolute error",
}
BY_CLASS = {"precision": "Precision", "recall": "Recall", "f1": "F1"}


def quality_section(facts: ReportFacts) -> Html:
    """The figures, the price, and what both cost together."""
    found = facts.evaluation
    if found is None:
        return tag(
            "p",
            "No evaluation was given with this report. Accuracy on private records is itself a "
            "release that must be paid for: dpforest evaluate does that.",
        )
    ledger = Ledger.from_dict(found["ledger"])
    return joined(
        [
            tag(
                "p",
                "Measured on private records, through noise. Each interval covers the figure of "
                f"the population with probability {found['level']:.0%}: it holds the error of "
                "sampling and that of the noise.",
            ),
            tag("p", *_price(facts.ledger, ledger)),
            _unnamed(found),
            _headline(found),
            _by_class(found),
            _matrix(found),
            _curves(found),
            _residuals(found),
            folded("The ledger of the evaluation", ledger_section(ledger)),
        ]
    )


def _price(model: Ledger, evaluation: Ledger) -> Iterator[Child]:
    if evaluation.guarantee is None:
        yield "The evaluation has no guarantee: " + "; ".join(evaluation.reasons) + "."
        return
    yield "The evaluation cost "
    yield tag("b", pair(evaluation.epsilon, evaluation.delta)[1:-1])
    yield f" for {evaluation.guarantee.protection.describe()}."
    if not evaluation.guarantee.releasable:
        yield " Its noise is reproducible, so it is not for release."
    if model.guarantee is not None and model.protection == evaluation.protection:
        both = Ledger.together(model, evaluation)
        yield " For whoever is in both tables, model and evaluation together: "
        yield tag("b", pair(both.epsilon, both.delta)[1:-1])
        yield "."
    else:
        yield " It does not add up with the model's, which protects otherwise or not at all."


def _unnamed(found: Mapping[str, Any]) -> Html | None:
    if "model_digest" in found or "model" in found:
        return None
    told = "The evaluation does not say which model it measured; make sure that it is this one."
    return tag("p", told, class_="small")


def _row(name: str, figure: Mapping[str, Any], place: int | None = None) -> tuple[str, str, str]:
    value, low, high = (_at(figure[part], place) for part in ("value", "low", "high"))
    return name, _known(value), f"{number(low)} to {number(high)}"


def _known(value: float | None) -> str:
    return "not known" if value is None else number(value)


def _at(part: Any, place: int | None) -> float | None:
    """A part of a figure; None where it has no bound."""
    found = part if place is None or part is None else part[place]
    return None if found is None else float(found)


def _headline(found: Mapping[str, Any]) -> Html:
    rows = [_row(heading, found[name]) for name, heading in HEADINGS.items() if name in found]
    if "calibration" in found:
        rows.append(_row("Expected calibration error", found["calibration"]["error"]))
    return table(("Figure", "Value", "Interval"), rows, numbers=(1, 2), slim=True)


def _by_class(found: Mapping[str, Any]) -> Html | None:
    if "classes" not in found or "recall" not in found:
        return None
    rows = [
        (short(label, 60), *(_stacked(found[name], c) for name in BY_CLASS))
        for c, label in enumerate(found["classes"][:MOST_CLASSES])
    ]
    return joined(
        [
            tag("h3", "By class"),
            table(("Class", *BY_CLASS.values()), rows, numbers=(1, 2, 3)),
            _left_out(len(found["classes"]) - MOST_CLASSES),
        ]
    )


def _stacked(figure: Mapping[str, Any], place: int) -> Html:
    """A value with its interval below it."""
    _, value, interval = _row("", figure, place)
    return joined([value, tag("span", interval, class_="how")])


def _matrix(found: Mapping[str, Any]) -> Html | None:
    """The released counts: rows are true classes, columns predicted ones."""
    classes = [short(label, 30) for label in found.get("classes", ())]
    if not classes or "confusion" not in found or len(classes) > MOST_IN_MATRIX:
        return None
    counts: Sequence[Sequence[float]] = found["confusion"]["value"]
    rows = [
        (label, *(f"{round(count):,}".replace("-", "−") for count in row))
        for label, row in zip(classes, counts, strict=True)
    ]
    heads = ("True class", *(f"predicted {label}" for label in classes))
    return joined(
        [
            tag("h3", "Confusion matrix"),
            table(heads, rows, numbers=range(1, len(heads))),
            tag("p", "Noisy counts, as released: small ones may lie below 0.", class_="small"),
        ]
    )


def _curves(found: Mapping[str, Any]) -> Html | None:
    """The ROC curve of two classes, and the calibration curve."""
    drawn: list[Html] = []
    told: list[str] = []
    roc = found.get("roc") or {}
    if len(roc) == 1:
        (label,) = roc
        drawn.append(_unit_square(roc[label], f"ROC curve of {short(label, 40)}"))
        told.append("ROC: true positives upwards, false positives to the right; dotted: chance.")
    if "calibration" in found:
        drawn.append(_unit_square(found["calibration"]["curve"], "Calibration"))
        told.append("Calibration: what came true upwards, what the model said to the right; "
                    "dotted: perfect.")  # fmt: skip
    if not drawn:
        return None
    note = tag("p", " ".join([*told, "The band is the interval at each point."]), class_="small")
    return joined([tag("div", *drawn, class_="charts"), note])


def _unit_square(curve: Mapping[str, Sequence[float]], title: str) -> Html:
    plot = Plot((0.0, 1.0), (0.0, 1.0))
    plot.guide([(0.0, 0.0), (1.0, 1.0)])
    y, low, high = (
        [
            (a, min(max(b, 0.0), 1.0))
            for a, b in zip(curve["x"], curve[part], strict=True)
            if b is not None  # the value is not known where the noise covers it
        ]
        for part in ("y", "low", "high")
    )
    plot.band(high, low)
    if y:
        plot.curve(y, 0)
    plot.name_x([(k / 4, f"{k / 4:g}") for k in range(5)])
    return plot.draw(title, f"{title}, with a band for its error")


def _residuals(found: Mapping[str, Any]) -> Html | None:
    curve = found.get("residual_quantiles")
    if curve is None:
        return None
    rows = [
        (f"{p:.0%}", _known(y), f"{number(low)} to {number(high)}")
        for p, y, low, high in zip(*(curve[k] for k in ("x", "y", "low", "high")), strict=True)
    ]
    return joined(
        [
            tag("h3", "Quantiles of the errors, truth less prediction"),
            table(("Below", "Value", "Interval"), rows, numbers=(1, 2), slim=True),
        ]
    )


def _left_out(n: int) -> Html | None:
    return tag("p", f"… and {n:,} more classes.", class_="small") if n > 0 else None

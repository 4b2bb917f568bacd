"""The model and its file: a card, where it comes from, and what it learnt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpforest.report.effects import ENDS, FeatureEffect
from dpforest.report.importances import CHOSEN_ONCE
from dpforest.report.page.charts import Plot, bars, compact, legend_of, ticks, tracks
from dpforest.report.page.facts import Importance, ReportFacts
from dpforest.report.page.markup import Html, folded, joined, number, short, table, tag, terms
from dpforest.report.page.styles import LINES

MOST_BARS = 15
MOST_CATEGORIES = 20
BOOSTED = "boosted random trees on privately chosen bins"
KINDS = {
    "PrivateForestClassifier": BOOSTED,
    "PrivateForestRegressor": BOOSTED,
    "PrivateIntervalRegressor": BOOSTED,
    "RandomDecisionForestClassifier": "random trees with noisy leaves",
    "MatrixForestClassifier": "random trees, leaf counts by the matrix mechanism",
    "MatrixForestPredictor": "answers to batches by the matrix mechanism",
    "GreedyForestClassifier": "trees of privately chosen attributes",
    "MedianForestClassifier": "trees of privately chosen splits",
    "MedianForestRegressor": "trees of privately chosen splits",
}
ALONE = {
    "choice of a rule": "one privately chosen rule, on bins that are public",
    "choice of a number": "one privately chosen number for all records",
    "class counts of the leaves": "one tree of privately chosen splits, on bins that are public",
    "linear start": "a linear model, on privately chosen bins",
}
"""What a boosted model without random trees is, by what its ledger has."""

SIGNATURES = {
    "none": "There is none beside the file. Against a file that was written anew by somebody else, "
    "sign it: dpforest sign.",
    "unchecked": "There is one beside the file, which this report did not check: give the signer's "
    "public key (--key), or run dpforest verify.",
    "fits": "Checked: it fits the file and the public key",
}


def origin_section(facts: ReportFacts) -> Html:
    """Where the file comes from, its digests and its signature."""
    file = facts.file
    if file is None:
        return tag(
            "p",
            "This report was made from a model in memory, so there is no file to name. To file a "
            "report, save the model and make the report from the file: it then holds digests and "
            "the state of the signature.",
        )
    signature = SIGNATURES[file.signature]
    if file.signature == "fits":
        signature += f" {short(file.key)}." if file.key else "."
    says = [
        (name, tag("code", told) if "SHA" in name else short(told))
        for name, told in file.says.items()
    ]
    return terms(
        [
            ("File", tag("code", short(file.name))),
            *((name[:1].upper() + name[1:], told) for name, told in says),
            ("Digest of the contents", tag("code", file.digest)),
            ("SHA-256 of the file", tag("code", file.sha256)),
            ("Ledger", "Checked: its totals follow from its releases."),
            ("Signature", signature),
        ]
    )


def _kind(facts: ReportFacts) -> str | None:
    """What kind of model it is, in a few words."""
    kind = KINDS.get(facts.estimator)
    if kind != BOOSTED or facts.plan.get("depth"):
        return kind
    told = facts.ledger.explain()
    return next((alone for label, alone in ALONE.items() if label in told), kind)


def card_section(facts: ReportFacts) -> Html:
    """The data, the features, the plan."""
    kind = _kind(facts)
    rows = [
        ("Estimator", facts.estimator + (f": {kind}" if kind else "")),
        ("Table", short(facts.table) if facts.table else "no public name was given"),
        ("Features", f"{facts.schema.n_features:,}"),
        *((_words(name), _value(value)) for name, value in facts.shape.items()),
    ]
    planned = [(_words(name), _value(value)) for name, value in facts.plan.items()]
    asked = [(tag("code", name), _value(value)) for name, value in facts.settings.items()]
    return joined(
        [
            terms(rows),
            folded("The plan that the fit made", terms(planned)) if planned else None,
            folded("Parameters that were asked for", table(("Parameter", "Value"), asked)),
        ]
    )


def learnt_section(facts: ReportFacts) -> Html:
    """Importances and effects, from released numbers alone."""
    if not facts.importances:
        return tag(
            "p",
            "There is no model to describe: the fit did not come to its end."
            if facts.state == "failed"
            else "This kind of forest releases no importances of features.",
        )
    ordered = sorted(facts.importances.items(), key=lambda pair: -pair[1].value)
    shown = dict(ordered[:MOST_BARS])
    values = {name: found.value for name, found in shown.items()}
    rest = len(ordered) - len(shown)
    return joined(
        [
            tag(
                "p",
                "Computed from the released model, so these pictures cost no privacy. They show "
                "what the model does, noise included, and not what causes what.",
            ),
            tag("h3", "Importance of the features"),
            bars(values, {name: _interval(found) for name, found in shown.items()}),
            tag("p", f"{rest:,} more features, each with less.", class_="small") if rest else None,
            _effects(facts.effects, facts.schema.target) if facts.effects else None,
        ]
    )


def _interval(found: Importance) -> str:
    if found.low is None or found.high is None:
        return CHOSEN_ONCE if found.value else ""
    if not found.value:
        return "not distinguishable from noise"
    return f"{100 * found.low:.1f}% to {100 * found.high:.1f}%"


def _effects(effects: tuple[FeatureEffect, ...], target: Any) -> Html:
    classes = None if target.classes is None else [str(each) for each in target.classes]
    lines = [_lines(effect, classes) for effect in effects]
    values = [value for each in lines for line in each.values() for value in line]
    marks = ticks(min(values), max(values))
    y = marks[0], marks[-1]
    drawn = [_effect(e, line, y) for e, line in zip(effects, lines, strict=True)]
    name = short(target.name, 60)
    if classes is None:
        what = f"the {effects[0].told} of {name}"
    elif len(classes) == 2:
        what = f"the probability of {name} = {short(classes[1], 60)}"
    else:
        what = f"the probabilities of {name}"
    return joined(
        [
            tag("h3", "Effects of single features"),
            tag(
                "p",
                f"What follows for {what} when one feature changes and the others are averaged. "
                "The features with the largest importance; all pictures have the same scale.",
                class_="small",
            ),
            tag("div", *drawn, class_="charts"),
        ]
    )


def _lines(effect: FeatureEffect, classes: list[str] | None) -> dict[str, list[float]]:
    """What to draw, by name: of many classes those that move most."""
    if classes is None and effect.answers.ndim == 2:
        return dict(zip(ENDS, effect.answers.T.tolist(), strict=True))
    if classes is None:
        return {"": effect.answers.tolist()}
    if len(classes) == 2:
        return {"": effect.answers[:, 1].tolist()}
    moves = effect.answers.max(axis=0) - effect.answers.min(axis=0)
    most = sorted(range(len(classes)), key=lambda c: -moves[c])[: len(LINES)]
    return {classes[c]: effect.answers[:, c].tolist() for c in sorted(most)}


def _effect(
    effect: FeatureEffect, lines: Mapping[str, list[float]], y: tuple[float, float]
) -> Html:
    name, legend = short(effect.feature, 60), [each for each in lines if each]
    if effect.edges is None:
        return _categories(effect, lines, y, name, legend)
    n_bins = len(effect.answers)
    plot = Plot((0.0, float(n_bins)), y)
    for colour, answers in enumerate(lines.values()):
        plot.curve([(i + d, value) for i, value in enumerate(answers) for d in (0.0, 1.0)], colour)
    places = sorted({round(k * n_bins / 4) for k in range(5)})
    plot.name_x([(float(place), compact(float(effect.edges[place]))) for place in places])
    first = next(iter(lines.values()))
    told = f"{name}: from {number(min(first), 3)} to {number(max(first), 3)}"
    return plot.draw(name, told, legend)


def _categories(
    effect: FeatureEffect,
    lines: Mapping[str, list[float]],
    y: tuple[float, float],
    name: str,
    legend: list[str],
) -> Html:
    names = [str(category) for category in effect.categories or ()]
    columns = zip(*lines.values(), strict=True)
    rows = dict(list(zip(names, columns, strict=True))[:MOST_CATEGORIES])
    left_out = len(names) - len(rows)
    return tag(
        "figure",
        tag("figcaption", name),
        tracks(rows, *y),
        tag("p", f"{left_out:,} more categories.", class_="small") if left_out else None,
        legend_of(legend),
    )


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not set"}[value]
    return number(float(value), 6) if isinstance(value, int | float) else short(value)

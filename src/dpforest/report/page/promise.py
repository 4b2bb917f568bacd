"""The guarantee in plain words: what holds, what it means for one person, and for whom."""

from __future__ import annotations

import math

from dpforest.privacy.accounts.guarantee import Guarantee
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import rounded_up
from dpforest.report.page.charts import scale
from dpforest.report.page.facts import ReportFacts
from dpforest.report.page.markup import Child, Html, joined, number, percent, table, tag

BELIEFS = (0.01, 0.1, 0.5, 0.9)
OTHER_EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
BEYOND = 700.0  # e to more than this is beyond doubles


def verdict(facts: ReportFacts) -> Html:
    """Say first what a reader must know: a guarantee, one that must stay inside, or none."""
    ledger, guarantee = facts.ledger, facts.ledger.guarantee
    if guarantee is None:
        reasons = tag("ul", *(tag("li", _sentence(reason)) for reason in ledger.reasons))
        title, told, look = "There is no privacy guarantee", reasons, "bad"
    elif facts.state == "holds records":
        title, look = "Not to be handed over: it holds the records", "bad"
        told = tag(
            "p",
            "This object answers batches of questions from the records themselves. Its answers may "
            "be passed on, with the guarantee below; the object may not.",
        )
    elif facts.state == "failed":
        title, look = "The fit failed: there is no model", "warn"
        told = tag("p", "What was released before the failure stays spent, as shown below.")
    elif not guarantee.releasable:
        title, look = "Not for release: the noise can be drawn again", "warn"
        told = tag(
            "p",
            "A seed was given, so whoever knows or guesses it can subtract the noise. The numbers "
            "below are those of the method; they hold for nothing that leaves the house.",
        )
    else:
        title, look = "This model carries a privacy guarantee", "good"
        told = tag("p", f"It holds for {guarantee.protection.describe()}, whoever looks at it.")
    return tag("div", tag("strong", title), told, class_=f"verdict {look}", role="note")


def summary(facts: ReportFacts) -> Html:
    """Show the numbers of the guarantee as tiles."""
    guarantee = facts.ledger.guarantee
    signature = {"none": "not signed", "unchecked": "there, not checked", "fits": "fits the key"}
    file = facts.file
    tiles: list[tuple[str, str, str]] = [
        ("Epsilon", rounded_up(guarantee.epsilon) if guarantee else "none", "large"),
        ("Delta", number(float(rounded_up(guarantee.delta)), 6) if guarantee else "none", "large"),
        ("Protects", facts.ledger.protection.describe(), "full"),
        ("Noise", "reproducible" if facts.ledger.reproducible_noise else "secret", ""),
        ("Signature", signature[file.signature] if file else "not a file", ""),
    ]
    if guarantee is None:
        tiles[3] = ("Noise", "no guarantee", "")
    return tag(
        "dl",
        *(tag("div", tag("dt", t), tag("dd", d), class_=c or None) for t, d, c in tiles),
        class_="facts",
    )


def guarantee_section(facts: ReportFacts) -> Html:
    """What epsilon and delta mean, with a worked example."""
    guarantee = facts.ledger.guarantee
    if guarantee is None:
        return tag(
            "p",
            "No epsilon bounds what this model may reveal about a single person. It must be "
            "treated like the records it was trained on: do not publish it, or predictions of it, "
            "where the records may not be published.",
        )
    return joined([*_meaning(guarantee, facts), *_example(guarantee)])


def _meaning(guarantee: Guarantee, facts: ReportFacts) -> list[Child]:
    factor = _factor(guarantee.epsilon)
    unit = "person" if guarantee.protection.unit == "group" else "record"
    plus = "" if not guarantee.delta else f", plus delta = {_delta(guarantee.delta)}"
    made = "what was released" if facts.state == "failed" else "the model"
    return [
        tag(
            "p",
            f"Whether or not one {unit} took part, {made} looks almost the same. Take two tables "
            f"that differ by {guarantee.protection.describe()}. Whatever anybody computes from "
            f"{made}, now or later, and whatever else they know: the probability of any result "
            "differs between the two by at most a factor of ",
            tag("b", f"e^epsilon = {factor}"),
            f"{plus}.",
        ),
        tag(
            "p",
            tag("b", "Epsilon"),
            f" = {rounded_up(guarantee.epsilon)} bounds how much one {unit} can tilt the odds. "
            "Smaller is stronger; 0 would be perfect privacy and a useless model. ",
            tag("b", "Delta"),
            f" = {_delta(guarantee.delta)} ",
            "is what may come on top for rare events."
            if guarantee.delta
            else "means that the factor holds for every event, however rare.",
            f" It should be far below one over the number of {unit}s." if guarantee.delta else "",
        ),
    ]


def _example(guarantee: Guarantee) -> list[Child]:
    """Work out odds, and what a guess on a fair coin can reach, which holds with delta as it is."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    factor = _factor(epsilon)
    whom = "a person" if guarantee.protection.unit == "group" else "a record"
    right = guess(epsilon, delta)
    rows = [
        (percent(p), percent(odds(p, epsilon)), percent(odds(p, -epsilon), up=False))
        for p in BELIEFS
    ]
    # By what is shown: an epsilon of 0.999998 takes the place of 1.
    others = {rounded_up(each): each for each in (*OTHER_EPSILONS, epsilon)}
    listed = sorted(others.items(), key=lambda pair: pair[1])
    compared = [(shown, percent(guess(each, delta))) for shown, each in listed]
    marked = [place for place, (_, each) in enumerate(listed) if each == epsilon]
    caveat = " in all but rare outcomes, which delta pays for" if delta else ""
    return [
        tag("h3", "A worked example"),
        tag(
            "p",
            f"Somebody thinks it as likely as not that {whom} is in the table: odds of 1 to 1. "
            f"After studying the model, the odds are at most {factor} to 1{caveat}. That is a "
            f"belief of {factor} / (1 + {factor}) = {percent(odds(0.5, epsilon))}, up "
            "from 50%. Other beliefs move as follows.",
        ),
        table(("Belief before", "After, at most", "At least"), rows, numbers=(1, 2), slim=True),
        tag(
            "p",
            f"Put as a game: a coin decides whether {whom} is in the table. Whoever sees the "
            "model, knows all other records and has any computer guesses right in at most ",
            tag("b", percent(right)),
            " of cases; 50% is guessing blindly.",
        ),
        scale(2 * right - 1, percent(right), ("50%: knows nothing", "100%: certain")),
        tag("h3", "Beside other values of epsilon"),
        table(("Epsilon", "Right guesses, at most"), compared, (1,), marked, slim=True),
    ]


def who_section(facts: ReportFacts) -> Html:
    """Who is protected, and who less."""
    protection = facts.ledger.protection
    return joined([tag("p", text) for text in _who(protection)])


def _who(protection: Protection) -> list[str]:
    told = [f"The guarantee speaks about {protection.describe()}."]
    if protection.unit == "group":
        told.append(
            f"Persons are protected as a whole. At most {protection.max_records_per_group} records "
            "of each person were used, a random choice where there were more."
        )
    else:
        told.append(
            "Records are protected. A person with several records in the table is protected less: "
            "with k records, epsilon is k times as large for that person, and delta grows as well. "
            "If persons have several records, ask for a model that was trained with groups."
        )
    if protection.neighbors == "replace_one":
        told.append("The number of records (or persons) counts as public.")
    else:
        told.append("The number of records is protected, too.")
    return told


def odds(belief: float, epsilon: float) -> float:
    """The belief after its odds were multiplied by e^epsilon.

    Examples
    --------
    >>> round(odds(0.5, 1.0), 4)
    0.7311
    """
    against = (1 - belief) / belief * math.exp(min(-epsilon, BEYOND))
    return 1 / (1 + against)


def guess(epsilon: float, delta: float = 0.0) -> float:
    """How often a guess on a fair coin can be right: half of one plus the total variation.

    Two outputs that are (epsilon, delta)-close both ways have a total variation of at most
    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1).
    """
    shrunk = math.exp(-epsilon)
    return min(1.0, (1 + delta * shrunk) / (1 + shrunk))


def _factor(epsilon: float) -> str:
    """Three digits of e^epsilon, rounded up."""
    factor = math.exp(min(epsilon, BEYOND))
    if factor >= 1e6:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    step = 10.0 ** -max(0, 2 - math.floor(math.log10(factor)))
    return number(math.ceil(factor / step - 1e-9) * step, digits=12)


def _delta(delta: float) -> str:
    shown = number(float(rounded_up(delta)), 6)
    return f"{shown} (one in {number(math.floor(1 / delta), 3)})" if delta else shown


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")

"""What the promise does not cover, and the place to sign."""

from __future__ import annotations

from dpforest.report.page.facts import ReportFacts
from dpforest.report.page.markup import Html, joined, tag

NOT_COVERED = (
    ("What the schema declares.", "Names of columns, bounds, categories and classes count as "
     "public."),
    ("Facts about people in general.", "If smoking causes cancer, the model may say so, and it may "
     "be guessed of a smoker who took no part."),
    ("Being predicted.", "The promise is about taking part in the training. A prediction for a "
     "person reveals what the model thinks of them."),
    ("What was done to the table before.", "Scalers, imputers, encoders or features that were "
     "chosen by looking at these records are outside the guarantee."),
    ("Other releases from the same records.", "Other models, tables, dashboards and evaluations "
     "add to what is shown here. So do settings that were tried and dropped."),
    ("Quality.", "Nothing here says that the model is accurate, fair or fit for its purpose."),
    ("The records themselves.", "Whoever can read the table needs no model. Access control stays "
     "necessary."),
    ("Side channels.", "That a fit succeeded, how long it took and how much memory it used."),
    ("A secret that got out.", "If a seed was given to the noise, or the machine that drew it was "
     "compromised, the noise can be subtracted."),
)  # fmt: skip
CHOICES = ("Released as it is", "Released on these conditions:", "Not released")
LINES = ("Name and role", "Place and date", "Signature")


def limits_section() -> Html:
    """What a reader must not read into the guarantee."""
    return tag("ul", *(tag("li", tag("b", what), " ", why) for what, why in NOT_COVERED))


def decision_section(facts: ReportFacts) -> Html:
    """A place to sign."""
    file = facts.file
    what = (
        joined(["the file ", tag("code", file.name), " with SHA-256 ", tag("code", file.sha256)])
        if file
        else "the model that this report describes"
    )
    fit_for_release = facts.ledger.releasable and facts.state == "complete"
    warning = "By what it says at the top, this is not fit for release."
    return joined(
        [
            tag("p", "I have read this report. My decision about ", what, ":"),
            tag("ul", *(tag("li", choice) for choice in CHOICES), class_="choice"),
            None if fit_for_release else tag("p", tag("b", warning)),
            tag("div", *(tag("div", line) for line in LINES), class_="sign"),
        ]
    )

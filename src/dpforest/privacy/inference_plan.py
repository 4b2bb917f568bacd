"""Which columns a paid schema must ask, for what, and for how much: from declarations alone.

Nothing here has seen a record. A column whose type is declared is asked one question (bounds, or
categories); a column of unknown type is asked for its kind first, and the answer decides which of
the two comes second. The price covers whatever it may be, and is debited as a whole before the
column is read: which of the two was asked is an outcome, and a total must not depend on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpforest.privacy.accounts.ledger import Branch, Entry, Ledger, Spend
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace, Threshold
from dpforest.privacy.mechanisms.noise import laplace_scale
from dpforest.schema import Task
from dpforest.schema.column_types import ColumnType

TARGET_SHARE = Fraction(1, 5)  # the least that the target gets: without it the rest is worth little
KIND_SHARE = Fraction(1, 4)  # of what a column gets, where its kind must be asked


@dataclass(frozen=True)
class Question:
    """A column that must be asked.

    Parameters
    ----------
    name : str
    declared : ColumnType, optional
        Its type; None when it must be asked.
    ranges, searches : bool
        Whether its bounds may be asked, and whether its categories or classes may.
    is_target : bool
    """

    name: str
    declared: ColumnType | None
    ranges: bool
    searches: bool
    is_target: bool = False

    @property
    def asks_kind(self) -> bool:
        """Whether its kind comes first, because nobody declared it."""
        return self.declared is None

    @property
    def asks_for(self) -> str:
        """What it is asked, apart from its kind, in words."""
        return " or ".join(["bounds"] * self.ranges + ["categories"] * self.searches)


@dataclass(frozen=True)
class Price:
    """What a question costs: the scales of its noise, and the entry to debit before it is asked.

    ``kind_scale`` is for the counts of kinds, ``scale`` for those of sizes or categories, and
    ``delta`` for the threshold of categories.
    """

    kind_scale: Fraction | None
    scale: Fraction
    delta: Fraction
    entry: Entry


def feature_question(name: str, declared: ColumnType | None) -> Question | None:
    """Return what to ask of a feature; None when its type says it all."""
    if declared == "boolean":
        return None
    return Question(name, declared, declared != "category", declared in ("category", None))


def target_question(name: str, declared: ColumnType | None, task: Task) -> Question | None:
    """Return what to ask of the target: its bounds, its classes, or which of the two.

    With task="auto", all but numbers with fractions are classes.
    """
    if task == "regression":
        return Question(name, declared or "number", ranges=True, searches=False, is_target=True)
    if declared == "boolean":
        return None
    ranges = task == "auto" and declared in ("number", None)
    searches = task == "classification" or declared != "number"
    return Question(name, declared, ranges, searches, is_target=True)


def share_out(questions: Sequence[Question], ledger: Ledger) -> dict[str, Price]:
    """Share the budget: the target gets a fifth or its even share, the others the rest evenly.

    Delta goes the same way to the columns whose categories may be searched.
    """
    searched = [question for question in questions if question.searches]
    if searched and not ledger.budget_delta:
        names = ", ".join(repr(question.name) for question in searched)
        raise ValueError(
            f"delta must be above 0 to search the categories of {names}: give delta=1e-6, say "
            "(well below one over the number of records), declare their types "
            "(types={'age': 'integer'}, or types='frame' where those of the frame are public), "
            "or declare the categories in universe"
        )
    epsilons = _shares(questions, Fraction(ledger.budget_epsilon))
    deltas = _shares(searched, Fraction(ledger.budget_delta))
    steps = ledger.protection.steps
    return {
        question.name: _price(
            question, epsilons[question.name], deltas.get(question.name, Fraction(0)), steps
        )
        for question in questions
    }


def _shares(questions: Sequence[Question], whole: Fraction) -> dict[str, Fraction]:
    names = [question.name for question in questions]
    if not names:
        return {}
    even = whole / len(names)
    target = next((question.name for question in questions if question.is_target), None)
    if target is None or len(names) == 1:
        return dict.fromkeys(names, even)
    own = max(even, whole * TARGET_SHARE)
    return dict.fromkeys(names, (whole - own) / (len(names) - 1)) | {target: own}


def _price(question: Question, epsilon: Fraction, delta: Fraction, steps: int) -> Price:
    """Return the price of a column; every count of it changes by ``steps`` in L1 norm."""
    if not question.asks_kind:
        scale, _ = laplace_scale(epsilon, steps)
        entry = _spend(f"{question.asks_for} of {question.name!r}", scale, steps, delta)
        return Price(None, scale, delta, entry)
    kind_scale, _ = laplace_scale(epsilon * KIND_SHARE, steps)
    scale, _ = laplace_scale(epsilon * (1 - KIND_SHARE), steps)
    parts = (
        _spend(f"kind of {question.name!r}", kind_scale, steps, Fraction(0)),
        _spend(f"{question.asks_for} of {question.name!r}", scale, steps, delta),
    )
    column = Branch(f"column {question.name!r}", "sequential", parts)
    return Price(kind_scale, scale, delta, column)


def _spend(label: str, scale: Fraction, steps: int, delta: Fraction) -> Spend:
    if not delta:
        return Spend.of(label, "discrete Laplace", DiscreteLaplace(scale, steps))
    return Spend.of(label, "discrete Laplace, threshold", Threshold(scale, steps, delta))

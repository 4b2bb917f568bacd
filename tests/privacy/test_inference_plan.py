"""Plans of paid schemas: prices from declarations alone, for four protections, by hand."""

from fractions import Fraction

import pandas as pd
import pytest

from dpforest.privacy.accounts.ledger import Ledger
from dpforest.privacy.accounts.mechanisms_used import DiscreteLaplace, Threshold
from dpforest.privacy.accounts.protection import Protection
from dpforest.privacy.accounts.spends import Branch
from dpforest.privacy.inference_plan import Question, feature_question, share_out, target_question
from dpforest.schema import Schema

QUESTIONS = [
    Question("age", "integer", ranges=True, searches=False),
    Question("colour", "category", ranges=False, searches=True),
    Question("odd", None, ranges=True, searches=True),
    Question("y", "category", ranges=False, searches=True, is_target=True),
]


def test_prices_are_shares_of_the_budget_with_noise_for_all_steps(protected):
    """The target has its even share, a quarter; a kind a quarter of what its column has."""
    protection, steps = protected
    delta = Fraction(3, 10**6)
    ledger = Ledger(2, delta, protection, kind="schema")
    prices = share_out(QUESTIONS, ledger)
    half = Fraction(1, 2)
    for name in ("age", "colour", "y"):
        assert (prices[name].kind_scale, prices[name].scale) == (None, steps / half)
    assert prices["odd"].kind_scale == steps / (half / 4)
    assert prices["odd"].scale == steps / (half * Fraction(3, 4))
    searched = [prices[name].delta for name in ("colour", "odd", "y")]
    assert (prices["age"].delta, searched) == (0, [delta / 3] * 3)
    # The ledger is told of that very noise, and all together are the budget.
    assert prices["age"].entry.made == DiscreteLaplace(2 * steps, steps)
    assert prices["colour"].entry.made == Threshold(2 * steps, steps, delta / 3)
    kind, rest = prices["odd"].entry.parts
    assert kind.made == DiscreteLaplace(8 * steps, steps)
    assert rest.made == Threshold(Fraction(8, 3) * steps, steps, delta / 3)
    assert isinstance(prices["odd"].entry, Branch)
    for price in prices.values():
        ledger.debit(price.entry)
    assert (ledger.epsilon, ledger.stages[-1].epsilon) == (2, 2)
    assert ledger.delta == pytest.approx(3e-6)


def test_of_many_columns_the_target_has_a_fifth():
    many = [Question(f"x{i}", "integer", ranges=True, searches=False) for i in range(16)]
    prices = share_out(
        [*many, QUESTIONS[3]], Ledger(1, Fraction(1, 10**6), Protection(), kind="schema")
    )
    assert prices["y"].scale == 5
    assert {prices[f"x{i}"].scale for i in range(16)} == {20}
    assert prices["y"].delta == Fraction(1, 10**6)


def test_nothing_is_asked_of_what_its_type_says():
    assert feature_question("a", "boolean") is None
    assert target_question("a", "boolean", "classification") is None
    assert target_question("a", "boolean", "regression").ranges
    asked = feature_question("a", None)
    assert (asked.asks_kind, asked.ranges, asked.searches) == (True, True, True)


def test_categories_are_searched_for_no_delta_never():
    with pytest.raises(ValueError, match="delta must be above 0 to search the categories of"):
        share_out(QUESTIONS, Ledger(1, 0, Protection(), kind="schema"))


def test_what_is_asked_follows_from_declarations_alone():
    """Whatever the records are: the same entries, in number, order and price."""
    tables = [
        pd.DataFrame({"a": values, "b": values, "y": ["u", "v"] * 400})
        for values in ([1] * 800, ["x"] * 800, [True] * 800, [0.5] * 800)
    ]
    ledgers = [
        Schema.infer(t, target="y", epsilon=9, delta=1e-6, random_state=0).ledger for t in tables
    ]
    assert len({ledger.entries for ledger in ledgers}) == 1

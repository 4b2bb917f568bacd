"""The ledger against its laws: budget, totals, guarantee, proof in words, round trip."""

import copy
import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.exceptions import BudgetExceededError, ModelFileError
from dpforest.privacy.accounts.accounting import gaussian_epsilon, mixture_epsilon, mu_for
from dpforest.privacy.accounts.ledger import (
    Approximate,
    Branch,
    Gaussian,
    Guarantee,
    Ledger,
    Protection,
    Pure,
    Spend,
)


def pure(epsilon, label="counts"):
    return Spend(label, "discrete Laplace", Pure(epsilon))


def gauss(mu, label="sums"):
    return Spend(label, "discrete Gaussian", Gaussian(mu))


def ledger(epsilon=1.0, delta=0.0, protection=None, **options):
    return Ledger(epsilon, delta, protection or Protection(), **options)


def state(book):
    return json.dumps(book.to_dict(), sort_keys=True)


# Totals


@settings(deadline=None, max_examples=50)
@given(st.lists(st.fractions(0, 10, max_denominator=1000), max_size=10))
def test_pure_spends_add_exactly(epsilons):
    book = ledger(math.inf)
    for epsilon in epsilons:
        book.debit(pure(epsilon))
    assert book.epsilon == float(sum(epsilons))
    assert book.delta == 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=10))
def test_gaussian_spends_follow_the_curve_of_the_summed_squares(mus):
    book = ledger(1000, 1e-6)
    for mu in mus:
        book.debit(gauss(mu))
    expected = gaussian_epsilon(math.sqrt(sum(mu * mu for mu in mus)), 1e-6)
    assert book.epsilon == pytest.approx(expected, rel=1e-12)
    assert book.delta == 1e-6


def test_mixture_goes_through_privacy_loss_distributions():
    book = ledger(10, 1e-6)
    book.debit(Branch("nodes", "sequential", (pure(0.1),), times=20))
    book.debit(gauss(0.3))
    assert book.epsilon == mixture_epsilon({Fraction(1, 10): 20}, 0.3, 1e-6)
    assert book.epsilon < 2 + gaussian_epsilon(0.3, 1e-6)


def test_thresholds_take_their_delta_from_the_gaussian_curve():
    book = ledger(10, 2e-6)
    book.debit(Spend("categories", "threshold", Approximate(0, 1e-6)))
    assert (book.epsilon, book.delta) == (0, 1e-6)
    book.debit(gauss(0.3))
    assert book.epsilon == pytest.approx(gaussian_epsilon(0.3, 1e-6), rel=1e-12)
    assert book.delta == 2e-6


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.01, 0.5), min_size=2, max_size=6), st.sampled_from([pure, gauss]))
def test_a_debit_never_lowers_what_is_spent(amounts, kind):
    book = ledger(1000, 1e-6)
    spent = 0.0
    for amount in amounts:
        book.debit(kind(amount))
        assert book.epsilon > spent
        spent = book.epsilon


# Budget


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 200), st.sampled_from([0.1, 0.3, 0.7, 1.0, 1.1, 2.3]))
def test_exact_shares_fill_the_budget_and_not_a_grain_more(shares, epsilon):
    for total in (Fraction(str(epsilon)), Fraction(epsilon)):
        book = ledger(epsilon)
        book.debit(Branch("trees", "sequential", (pure(total / shares),), times=shares))
        assert book.epsilon == epsilon
        with pytest.raises(BudgetExceededError):
            book.debit(pure(Fraction(1, 10**15)))


def test_control_float_sums_would_overrun():
    assert sum([0.1] * 3) > 0.3
    book = ledger(0.3)
    for _ in range(3):
        book.debit(pure(0.1))
    assert book.remaining_epsilon == 0


@settings(deadline=None, max_examples=100)
@given(
    st.floats(0.01, 20),
    st.floats(1e-12, 1e-2),
    st.lists(st.floats(0.01, 1), min_size=1, max_size=20),
)
def test_shares_of_a_planned_mu_fit(epsilon, delta, weights):
    mu = mu_for(epsilon, delta)
    book = ledger(epsilon, delta)
    for weight in weights:
        book.debit(gauss(mu * math.sqrt(weight / sum(weights))))
    assert book.epsilon <= epsilon
    assert book.epsilon == pytest.approx(epsilon, rel=1e-8)


def test_control_a_mu_beyond_the_plan_is_refused():
    with pytest.raises(BudgetExceededError):
        ledger(1, 1e-6).debit(gauss(mu_for(1, 1e-6) * (1 + 1e-9)))


def test_a_planned_sum_of_both_kinds_fits_without_dp_accounting():
    book = ledger(1, 1e-6)
    book.debit(pure(0.1))
    book.debit(gauss(mu_for(0.9, 1e-6)))
    assert book.epsilon < 1


def test_a_mixture_beyond_the_plain_sum_is_afforded():
    book = ledger(2.5, 1e-6)
    book.debit(Branch("nodes", "sequential", (pure(0.1),), times=20))
    book.debit(gauss(0.3))
    assert 2 + gaussian_epsilon(0.3, 1e-6) > 2.5 > book.epsilon


TOO_MUCH = [
    (1.0, 0.0, pure(1.5)),
    (1.0, 0.0, pure(math.inf)),
    (1.0, 0.0, gauss(0.001)),
    (1.0, 1e-6, gauss(1.0)),
    (1.0, 1e-6, gauss(math.inf)),
    (1.0, 1e-6, Spend("categories", "threshold", Approximate(0, 1e-5))),
    (1.0, 1e-6, Branch("trees", "sequential", (pure(0.1),), times=11)),
    (1.0, 1e-6, Branch("mixed", "sequential", (pure(0.9), gauss(0.2)))),
]


@pytest.mark.parametrize(("epsilon", "delta", "entry"), TOO_MUCH)
def test_refusal_names_the_entry_and_changes_nothing(epsilon, delta, entry):
    book = ledger(epsilon, delta)
    book.debit(pure(0.2, "first"))
    before = state(book)
    with pytest.raises(BudgetExceededError, match=f"'{entry.label}' costs.*larger epsilon"):
        book.debit(entry)
    assert state(book) == before
    book.debit(pure(0.8))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.fractions(0, 1, max_denominator=50), min_size=1, max_size=8))
def test_never_beyond_the_budget_and_the_rest_is_affordable(epsilons):
    book = ledger(1)
    for epsilon in epsilons:
        try:
            book.debit(pure(epsilon))
        except BudgetExceededError:
            assert epsilon > book.remaining_epsilon
    book.debit(pure(book.remaining_epsilon))
    assert book.epsilon == pytest.approx(1, abs=1e-15)
    assert book.epsilon <= 1


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (-1, 0, "epsilon is -1"),
        (math.nan, 0, "epsilon is nan"),
        ("much", 0, "epsilon is 'much'"),
        (1, 1, "delta is 1"),
        (1, math.inf, "delta is inf"),
        (1, -1e-6, "delta is -1e-06"),
    ],
)
def test_wrong_budgets_are_refused(epsilon, delta, message):
    with pytest.raises(ValueError, match=message):
        ledger(epsilon, delta)


# Guarantee


def test_guarantee_states_what_holds():
    person = Protection("replace_one", "group", 3)
    book = ledger(1, 1e-6, person)
    assert book.guarantee == Guarantee(0.0, 0.0, person)
    book.debit(pure(0.5))
    assert book.guarantee == Guarantee(0.5, 0.0, person)
    assert str(book.guarantee) == (
        "(epsilon = 0.5, delta = 0) for replacing one person (at most 3 records each)"
    )
    assert book.remaining_delta == 1e-6


@pytest.mark.parametrize("entry", [pure(math.inf), gauss(math.inf)])
def test_infinite_epsilon_is_no_guarantee(entry):
    book = ledger(math.inf)
    book.debit(entry)
    assert book.epsilon == book.remaining_epsilon == math.inf
    assert book.guarantee is None
    assert book.reasons == ("epsilon is infinite: not private",)
    assert book.explain().startswith("no guarantee: epsilon is infinite: not private")


def test_a_voided_ledger_has_no_guarantee_but_keeps_counting():
    book = ledger()
    book.void("the schema was read from the data")
    book.void("the schema was read from the data")
    book.debit(pure(0.5))
    assert book.guarantee is None
    assert book.reasons == ("the schema was read from the data",)
    assert book.epsilon == 0.5
    with pytest.raises(ValueError, match="reason is empty"):
        book.void("")


def test_notes():
    book = ledger(reproducible_noise=True)
    book.debit(Spend("a", "public", Pure(0), note="n was declared"))
    book.debit(Branch("b", "parallel", (Spend("c", "none", Pure(0), note="n was declared"),)))
    assert book.notes == ("noise: reproducible, not for release", "n was declared")
    assert book.guarantee is not None
    assert ledger().notes == ()


# The proof in words


def test_explain_is_the_proof():
    book = ledger(2, 1e-6, Protection(unit="group", max_records_per_group=3))
    leaf = Spend("leaf gradients", "discrete Gaussian, sigma = 61.7", Gaussian(0.02))
    tree = Branch("leaves of a tree", "parallel", (leaf,), times=16)
    book.debit(pure(0.1, "number of records"))
    book.debit(Branch("100 trees, depth 4", "sequential", (tree,), times=100))
    lines = book.explain().splitlines()
    assert lines[0] == str(book.guarantee)
    assert lines[0].endswith("for adding or removing one person (at most 3 records each)")
    assert lines[1:] == [
        "budget: (epsilon = 2, delta = 1e-06)",
        "total: epsilon = 0.1, mu = 0.2, by privacy loss distributions at delta = 1e-06 "
        "[sequential]",
        "├─ number of records: discrete Laplace, epsilon = 0.1",
        "└─ 100 trees, depth 4: mu = 0.2 [100 times, sequential: parts add up]",
        "   └─ leaves of a tree: mu = 0.02 [16 times, parallel: disjoint records, largest counts]",
        "      └─ leaf gradients: discrete Gaussian, sigma = 61.7, mu = 0.02",
    ]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.uuids().map(str), min_size=1, max_size=5, unique=True))
def test_explain_mentions_every_entry(labels):
    book = ledger(reproducible_noise=True)
    for label in labels:
        part = pure(Fraction(1, 10), f"part of {label}")
        book.debit(Branch(label, "parallel", (part,), times=2))
    text = book.explain()
    for label in labels:
        assert text.count(label) == 2
    assert text.endswith("noise: reproducible, not for release")


def test_explain_of_nothing():
    assert ledger().explain().splitlines()[-1] == "nothing spent"
    assert repr(ledger()) == "<Ledger: (epsilon = 0, delta = 0) of (epsilon = 1, delta = 0) spent>"


# More of the same: rounds of one model are one line


def branch(times, rule="sequential", epsilon=0.01, label="trees"):
    return Branch(label, rule, (pure(epsilon),), times=times)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.sampled_from([pure, gauss]))
def test_rounds_merge_without_changing_the_total(rounds, kind):
    parts = (kind(0.01),)
    merged, plain = ledger(1000, 1e-6), ledger(1000, 1e-6)
    for i, times in enumerate(rounds):
        merged.debit(Branch("trees", "sequential", parts, times=times))
        plain.debit(Branch(f"round {i}", "sequential", parts, times=times))
    assert merged.epsilon == plain.epsilon
    (line,) = merged.entries
    assert line.times == sum(rounds)
    assert merged.epsilon == Ledger.from_dict(merged.to_dict()).epsilon


DIFFERENT = [
    branch(3, epsilon=0.02),
    branch(3, label="other trees"),
    branch(3, rule="parallel"),
    pure(0.01, "trees"),
]


@pytest.mark.parametrize("other", DIFFERENT)
def test_what_differs_keeps_a_line_of_its_own(other):
    book = ledger()
    book.debit(branch(2))
    book.debit(other)
    book.debit(branch(2))
    assert len(book.entries) == 3


def test_parallel_branches_do_not_merge_although_they_are_equal():
    """Two rounds over the same records add up; merged into one they would cost half."""
    book = ledger()
    for _ in range(2):
        book.debit(branch(5, rule="parallel", epsilon=0.3))
    assert len(book.entries) == 2
    assert book.epsilon == 0.6


def test_a_merged_line_is_refused_as_a_whole_round():
    book = ledger(0.1)
    book.debit(branch(8))
    before = state(book)
    with pytest.raises(BudgetExceededError):
        book.debit(branch(3))
    assert state(book) == before


# A further budget


def test_continuing_adds_a_budget_and_keeps_what_was_spent():
    first = ledger(1.0, 1e-6, Protection(unit="group", max_records_per_group=2))
    first.debit(gauss(mu_for(1.0, 1e-6)))
    first.note("a remark")
    second = first.continued(0.5, 1e-6, reproducible_noise=True)
    assert second.budget_epsilon == Fraction(3, 2)
    assert second.budget_delta == Fraction(2, 10**6)
    assert second.entries == first.entries
    assert second.protection == first.protection
    assert second.reproducible_noise
    assert second.notes[1:] == (
        "a remark",
        "continued with a further (epsilon = 0.5, delta = 1e-06)",
    )
    second.debit(gauss(mu_for(0.5, 1e-6)))
    assert second.epsilon <= 1.5
    # The first ledger is what it was.
    assert len(first.entries) == 1
    assert first.notes == ("a remark",)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0.01, 5), st.floats(1e-9, 1e-3)), min_size=2, max_size=4),
    st.booleans(),
)
def test_every_budget_can_be_spent_on_top_of_the_others(budgets, one_is_pure):
    """Composition is at least as good as the sum: a planned spend is never refused."""
    (epsilon, delta), *others = budgets
    book = ledger(epsilon, delta)
    book.debit(pure(epsilon) if one_is_pure else gauss(mu_for(epsilon, delta)))
    for epsilon, delta in others:
        book = book.continued(epsilon, delta, reproducible_noise=False)
        book.debit(gauss(mu_for(epsilon, delta)))
    assert len(book.entries) == len(budgets)


def test_a_continued_mixture_counts_pure_epsilons_as_one_sum():
    """How the first budget was split may have followed from what it released."""
    book = ledger(1.0)
    book.debit(Branch("trees", "sequential", (pure(Fraction(1, 20)),), times=20))
    more = book.continued(2.0, 1e-6, reproducible_noise=False)
    more.debit(gauss(0.3))
    assert more.epsilon == mixture_epsilon({Fraction(1): 1}, 0.3, 1e-6)
    # The control: a list that is fixed in advance may be counted one by one, which is less.
    assert more.epsilon > mixture_epsilon({Fraction(1, 20): 20}, 0.3, 1e-6)
    assert more.epsilon <= 1 + gaussian_epsilon(0.3, 1e-6)
    assert Ledger.from_dict(more.to_dict()).epsilon == more.epsilon


def test_control_a_continued_budget_is_no_licence():
    book = ledger()
    book.debit(pure(1))
    more = book.continued(0.25, 0.0, reproducible_noise=False)
    with pytest.raises(BudgetExceededError):
        more.debit(pure(Fraction(1, 4) + Fraction(1, 10**12)))
    more.debit(pure(0.25))
    assert more.epsilon == 1.25


def test_continuing_does_not_wash_a_ledger():
    book = ledger(reproducible_noise=True)
    book.void("the schema was read from the data")
    more = book.continued(1.0, 0.0, reproducible_noise=False)
    assert more.guarantee is None
    assert more.reproducible_noise
    nothing = ledger(math.inf)
    nothing.debit(pure(math.inf))
    assert nothing.continued(1.0, 0.0, reproducible_noise=False).guarantee is None


@pytest.mark.parametrize("spent", [0, Fraction(1, 3), 0.1, 1])
def test_what_is_unspent_can_be_spent_to_the_last_grain(spent):
    book = ledger()
    book.debit(pure(spent))
    book.debit(pure(book.unspent_epsilon))
    assert book.unspent_epsilon == 0
    assert book.epsilon == 1
    assert ledger(math.inf).unspent_epsilon == math.inf


def test_remarks_are_kept_once_and_saved():
    book = ledger()
    for _ in range(2):
        book.note("the fit failed after these releases: they remain spent")
    again = Ledger.from_dict(json.loads(json.dumps(book.to_dict())))
    assert again.notes == book.notes
    assert len(book.notes) == 1
    assert book.explain().endswith("they remain spent")
    assert book.guarantee is not None


# Files and copies


def full_ledger():
    book = ledger(5.3, 1e-6, Protection(unit="group", max_records_per_group=2))
    book.debit(pure(Fraction(1, 3)))
    book.debit(Branch("trees", "parallel", (pure(0.1), gauss(0.1 + 0.2)), times=7))
    book.debit(Spend("categories", "threshold", Approximate(0.25, 1e-7), note="universe unknown"))
    book.void("a test")
    return book


@pytest.mark.parametrize("book", [full_ledger(), ledger(), ledger(math.inf)])
def test_round_trip(book):
    text = json.dumps(book.to_dict(), allow_nan=False)
    again = Ledger.from_dict(json.loads(text))
    assert again.entries == book.entries
    assert again.explain() == book.explain()
    assert state(again) == state(book)
    assert again.budget_epsilon == book.budget_epsilon
    for same in (pickle.loads(pickle.dumps(book)), copy.deepcopy(book)):
        assert state(same) == state(book)


def test_control_a_changed_entry_changes_the_total():
    book = ledger()
    book.debit(pure(0.5))
    written = book.to_dict()
    written["entries"][0]["loss"]["epsilon"] = "3/2"
    assert Ledger.from_dict(written).epsilon == 1.5


def test_to_dict_tells_other_tools_the_guarantee():
    book = ledger(1, 1e-6)
    book.debit(gauss(0.1))
    told = book.to_dict()["guarantee"]
    assert told["epsilon"] == book.epsilon
    assert told["delta"] == 1e-6
    assert told["protection"]["neighbors"] == "add_remove"


DAMAGE = [
    lambda d: d.pop("budget"),
    lambda d: d["budget"].update(epsilon="lots"),
    lambda d: d["budget"].update(delta="2"),
    lambda d: d["protection"].update(neighbors="swap"),
    lambda d: d["protection"].update(shape="round"),
    lambda d: d.update(entries=3),
    lambda d: d["entries"][0].pop("loss"),
    lambda d: d["entries"][0].update(loss="free"),
    lambda d: d["entries"][0]["loss"].update(epsilon="1/0"),
    lambda d: d["entries"][1].update(rule="serial"),
    lambda d: d["entries"][1].update(times=-1),
    lambda d: d["entries"][2]["loss"].update(delta="x"),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_ledger_is_refused(damage):
    written = json.loads(json.dumps(full_ledger().to_dict()))
    damage(written)
    with pytest.raises(ModelFileError, match=r"ledger is damaged.*expected.*train again"):
        Ledger.from_dict(written)


def test_a_ledger_that_is_no_dictionary_is_refused():
    with pytest.raises(ModelFileError, match="ledger is damaged"):
        Ledger.from_dict(["not", "a", "ledger"])


# Imports


def slow_imports(code):
    """Which slow modules a fresh interpreter loads (the package's own __init__ left out)."""
    script = (
        "import sys, types, importlib.util as u\n"
        "root = types.ModuleType('dpforest')\n"
        "root.__path__ = list(u.find_spec('dpforest').submodule_search_locations)\n"
        "sys.modules['dpforest'] = root\n"
        f"{code}\n"
        "print(*[m for m in ('dp_accounting', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_and_using_the_ledger_loads_nothing_slow():
    planned = (
        "from dpforest.privacy.accounts.ledger import *\n"
        "from dpforest.privacy.accounts.accounting import mu_for\n"
        "book = Ledger(1.0, 1e-6, Protection())\n"
        "book.debit(Spend('n', 'noise', Pure(0.1)))\n"
        "book.debit(Spend('g', 'noise', Gaussian(mu_for(0.9, 1e-6))))\n"
    )
    assert slow_imports(planned) == []
    assert "dp_accounting" in slow_imports(planned + "book.epsilon")

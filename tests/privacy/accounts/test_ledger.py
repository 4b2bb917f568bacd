"""The ledger against its laws: budget, totals, guarantee, proof in words, round trip."""

import copy
import json
import math
import pickle
import subprocess
import sys
import threading
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
from dpforest.privacy.accounts.spends import Cost
from dpforest.privacy.accounts.stages import Stage
from dpforest.privacy.mechanisms.additive import AdditiveNoise


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


@given(
    st.one_of(st.floats(1e-12, 100), st.fractions(Fraction(1, 10**6), 50)),
    st.sampled_from([0.0, 1e-300, 1e-12, 1e-6, 0.1]),
    st.sampled_from([0.1, 0.9, 0.94, 0.949, 0.99, 1.0, 1.06]),
    st.booleans(),
    st.booleans(),
)
def test_what_is_settled_quickly_is_within_the_budget(epsilon, delta, part, some_pure, some_delta):
    stage = Stage("fit", epsilon, delta, Protection())
    total = Cost(mu_squared=Fraction(part * mu_for(float(epsilon), delta)) ** 2)
    if some_pure:
        total += Cost({Fraction(stage.budget_epsilon) / 2: 1})
    if some_delta:
        total += Cost(delta=Fraction(delta) / 1000)
    if stage._is_well_within(total):
        assert stage._epsilon_of(total) <= stage.budget_epsilon
    plain = part <= 0.94 and not some_pure and not some_delta
    assert stage._is_well_within(total) or not plain


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


def test_two_threads_cannot_spend_the_same_rest(monkeypatch):
    """While one debit has seen what is left and not yet taken it, another has to wait."""
    book, refused = ledger(1.0), []

    def spend_too():
        try:
            book.debit(pure(0.6, "rival"))
        except BudgetExceededError as error:
            refused.append(error)

    rival, debited = threading.Thread(target=spend_too), Stage.debited

    def slow(stage, entry):
        spent = debited(stage, entry)
        if entry.label != "rival":
            rival.start()
            rival.join(1.0)  # as long as this thread has not finished, it does not end
            assert rival.is_alive()
        return spent

    monkeypatch.setattr(Stage, "debited", slow)
    book.debit(pure(0.6, "first"))
    rival.join()
    assert len(refused) == 1
    assert [entry.label for entry in book.entries] == ["first"]


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
        "budget: (epsilon = 2, delta = 1e-06) [filter: fixed budget]",
        "total: epsilon = 0.1, mu = 0.2, by privacy loss distributions at delta = 1e-06 "
        "[sequential]",
        "├─ number of records: discrete Laplace, epsilon = 0.1",
        "└─ 100 trees, depth 4: mu = 0.2 [100 times, sequential: parts add up]",
        "   └─ leaves of a tree: mu = 0.02 [16 times, parallel: disjoint records, largest counts]",
        "      └─ leaf gradients: discrete Gaussian, sigma = 61.7, mu = 0.02",
    ]


def test_equal_releases_one_after_the_other_share_a_line_and_nothing_else():
    book = ledger(2, 1e-6)
    step = Spend("step", "discrete Gaussian, sigma = 30", Gaussian(0.02))
    for entry in (step, pure(0.1, "count"), step, step, step):
        book.debit(entry)
    assert book.explain().splitlines()[-3:] == [
        "├─ step: discrete Gaussian, sigma = 30, mu = 0.02",
        "├─ count: discrete Laplace, epsilon = 0.1",
        "└─ step: discrete Gaussian, sigma = 30, mu = 0.02 each [3 times]",
    ]
    assert len(book.entries) == 5
    assert Ledger.from_dict(book.to_dict()).entries == book.entries


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


# Stages


def after(book, epsilon, delta=0.0, **options):
    return Ledger(epsilon, delta, book.protection, after=book.stages, **options)


def test_a_further_stage_has_a_budget_of_its_own_and_keeps_what_was_spent():
    first = ledger(1.0, 1e-6, Protection(unit="group", max_records_per_group=2))
    first.debit(gauss(mu_for(1.0, 1e-6)))
    first.note("a remark")
    second = after(first, 0.5, 1e-6, reproducible_noise=True, kind="continued fit")
    assert second.budget_epsilon == Fraction(3, 2)
    assert second.budget_delta == Fraction(2, 10**6)
    assert second.entries == first.entries
    assert second.protection == first.protection
    assert second.reproducible_noise
    assert second.unspent_epsilon == Fraction(1, 2)
    second.debit(gauss(mu_for(0.5, 1e-6)))
    assert 1.5 * (1 - 1e-8) < second.epsilon <= 1.5
    assert second.delta == 2e-6
    # The first ledger is what it was.
    assert len(first.entries) == 1
    assert first.notes == ("a remark",)
    assert not first.reproducible_noise


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), st.floats(0.01, 0.3)), min_size=1, max_size=4),
        min_size=2,
        max_size=4,
    )
)
def test_stages_add_up_and_are_never_pooled(stages):
    """Stages are chosen in the light of earlier ones: their guarantees add, not their mu^2."""
    chain, apart = None, []
    for spends in stages:
        alone = ledger(100, 1e-6)
        chain = ledger(100, 1e-6) if chain is None else after(chain, 100, 1e-6)
        for is_pure, amount in spends:
            for book in (alone, chain):
                book.debit(pure(amount) if is_pure else gauss(amount))
        apart.append(alone)
    assert chain.epsilon == pytest.approx(sum(book.epsilon for book in apart), rel=1e-12)
    assert chain.delta == pytest.approx(sum(book.delta for book in apart))
    assert Ledger.from_dict(chain.to_dict()).epsilon == chain.epsilon


def test_control_pooling_the_mu_of_two_stages_would_promise_more():
    book = ledger(5, 1e-6)
    book.debit(gauss(0.3))
    both = after(book, 5, 1e-6)
    both.debit(gauss(0.3))
    assert both.epsilon > 1.2 * gaussian_epsilon(0.3 * math.sqrt(2), 2e-6)


def test_control_a_further_stage_is_no_licence():
    book = ledger()
    book.debit(pure(0.5))
    more = after(book, 0.25)
    with pytest.raises(BudgetExceededError):
        # What the first stage left is not for the second.
        more.debit(pure(Fraction(1, 4) + Fraction(1, 10**12)))
    more.debit(pure(0.25))
    assert more.epsilon == 0.75
    assert more.remaining_epsilon == 0


def test_further_stages_do_not_wash_a_ledger():
    book = ledger(reproducible_noise=True)
    book.void("the schema was read from the data")
    book.debit(pure(0.5))
    more = after(book, 1.0)
    assert more.guarantee is None
    assert more.reproducible_noise
    assert not more.releasable
    nothing = ledger(math.inf)
    nothing.debit(pure(math.inf))
    assert after(nothing, 1.0).guarantee is None


def test_explain_says_which_of_the_two_holds():
    book = ledger(1, 1e-6)
    book.debit(pure(0.5))
    assert "[filter: fixed budget]" in book.explain()
    assert "odometer" not in book.explain()
    more = after(book, 2.0, kind="continued fit")
    more.debit(pure(1.5, "trees"))
    assert more.explain().splitlines() == [
        "(epsilon = 2, delta = 0) for adding or removing one record",
        "odometer: stages add up",
        "├─ fit: (epsilon = 0.5, delta = 0) of the budget (epsilon = 1, delta = 1e-06): "
        "the epsilons add up exactly [sequential]",
        "│  └─ counts: discrete Laplace, epsilon = 0.5",
        "└─ continued fit: (epsilon = 1.5, delta = 0) of the budget (epsilon = 2, delta = 0): "
        "the epsilons add up exactly [sequential]",
        "   └─ trees: discrete Laplace, epsilon = 1.5",
    ]


def test_stages_that_protect_different_things_give_no_guarantee():
    book = ledger()
    book.debit(pure(0.5))
    for other in (Protection("replace_one"), Protection("add_remove", "group", 3)):
        more = Ledger(1.0, 0.0, other, after=book.stages)
        more.debit(pure(0.5))
        assert more.guarantee is None
        assert not more.releasable
        assert book.protection.describe() in more.reasons[0]
        assert other.describe() in more.reasons[0]
        assert "same neighbors" in more.reasons[0]
        assert more.epsilon == 1


def test_failures_are_what_was_spent_since_the_last_model():
    book = ledger()
    assert book.failures() is None
    book.debit(pure(0.25))
    assert book.failures() is None  # a model that came to its end
    more = after(book, 1.0, kind="continued fit")
    more.debit(pure(0.5))
    more.mark_failed()
    assert more.failures().epsilon == 0.5
    alone = ledger(kind="schema")
    alone.debit(pure(0.125))
    alone = after(alone, 1.0)
    alone.debit(pure(0.25))
    alone.mark_failed()
    assert alone.failures().epsilon == 0.375  # with the schema that it was made for
    assert after(alone.failures(), 1.0).failures().epsilon == 0.375
    assert any("remain spent" in note for note in alone.notes)


# Sums of ledgers


def test_together_counts_shared_stages_once():
    schema = ledger(kind="schema")
    schema.debit(pure(1))
    models = [after(schema, 0.5) for _ in range(3)]
    for model in models:
        model.debit(pure(0.5))
        assert model.epsilon == 1.5
    whole = Ledger.together(schema, *models)
    assert whole.epsilon == 2.5
    assert whole.budget_epsilon == 2.5
    assert Ledger.together(*models, *models, schema).epsilon == 2.5
    saved = [Ledger.from_dict(json.loads(json.dumps(m.to_dict()))) for m in models]
    assert Ledger.together(*saved, *models).epsilon == 2.5
    assert Ledger.together(models[0]).explain() == models[0].explain()


def test_control_equal_stages_of_different_fits_count_each():
    books = [ledger(), ledger()]
    for book in books:
        book.debit(pure(0.5))
    assert Ledger.together(*books).epsilon == 1


def test_together_takes_the_later_of_two_copies():
    book = ledger(2.0)
    book.debit(branch(3))
    early = Ledger.from_dict(book.to_dict())
    book.debit(branch(4))
    book.debit(pure(0.5))
    for pair in ((early, book), (book, early)):
        assert Ledger.together(*pair).epsilon == book.epsilon


def test_together_forgets_no_reason_of_either_copy():
    book = ledger(2.0)
    book.debit(pure(0.5))
    void = Ledger.from_dict(book.to_dict())
    void.void("records were read without payment")
    for pair in ((void, book), (book, void)):
        assert Ledger.together(*pair).guarantee is None


def test_together_refuses_what_cannot_be_added():
    book = ledger()
    book.debit(pure(0.25))
    twin = Ledger.from_dict(book.to_dict())
    book.debit(pure(0.25, "one way"))
    twin.debit(pure(0.125, "another"))
    with pytest.raises(ValueError, match="differently"):
        Ledger.together(book, twin)
    with pytest.raises(ValueError, match=r"protect different things.*replacing one record"):
        Ledger.together(book, ledger(protection=Protection("replace_one")))
    with pytest.raises(ValueError, match="no ledger"):
        Ledger.together()
    with pytest.raises(RuntimeError, match="takes no debits"):
        Ledger.together(book).debit(pure(0.1))


def test_together_keeps_reasons_notes_and_seeds():
    void, seeded, clean = ledger(), ledger(reproducible_noise=True), ledger()
    void.void("a test")
    clean.note("a remark")
    assert Ledger.together(void, clean).reasons == ("a test",)
    assert Ledger.together(void, clean).notes == ("a remark",)
    assert not Ledger.together(seeded, clean).releasable
    assert Ledger.together(clean).releasable


# Seeds


def test_a_seed_shows_in_every_form_of_the_guarantee():
    book = ledger(reproducible_noise=True)
    book.debit(pure(0.5))
    assert not book.releasable
    assert not book.guarantee.releasable
    assert book.to_dict()["guarantee"]["releasable"] is False
    for text in (str(book.guarantee), book.explain().splitlines()[0], repr(book)):
        assert "not for release: the noise is reproducible" in text
    again = Ledger.from_dict(json.loads(json.dumps(book.to_dict())))
    assert again.guarantee == book.guarantee
    secret = ledger()
    assert secret.releasable
    assert secret.guarantee.releasable
    assert "release" not in str(secret.guarantee) + secret.explain() + repr(secret)


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


def test_totals_that_do_not_follow_are_refused():
    book = ledger()
    book.debit(pure(0.5))
    edits = [
        lambda d: d["stages"][0]["entries"][0]["loss"].update(epsilon="1/4"),
        lambda d: d["stages"][0]["spent"].update(epsilon=0.25),
        lambda d: d["guarantee"].update(epsilon=0.25),
        lambda d: d["guarantee"].update(releasable=False),
        lambda d: d["guarantee"]["protection"].update(unit="group"),
        lambda d: d.update(guarantee=None),
        lambda d: d.update(releasable=False),
        lambda d: d["stages"][0].update(reproducible_noise=True),
    ]
    for edit in edits:
        written = json.loads(json.dumps(book.to_dict()))
        Ledger.from_dict(written)
        edit(written)
        with pytest.raises(ModelFileError, match="follows from the releases"):
            Ledger.from_dict(written)


def test_a_loss_must_follow_from_how_the_release_was_made():
    noise = AdditiveNoise.for_price(Gaussian(0.3), l1=1, l2=1.0)
    book = ledger(5, 1e-6)
    book.debit(noise.spend("sums", 1))
    written = json.loads(json.dumps(book.to_dict()))
    # An edit that has all totals right, but not how the noise was made.
    cheap = ledger(5, 1e-6)
    cheap.debit(gauss(noise.loss.mu / 50))
    edited = json.loads(json.dumps(cheap.to_dict()))
    edited["stages"][0]["entries"][0]["made"] = written["stages"][0]["entries"][0]["made"]
    with pytest.raises(ModelFileError, match="follows from how it was made"):
        Ledger.from_dict(edited)
    assert Ledger.from_dict(written).epsilon == book.epsilon


def test_to_dict_tells_other_tools_the_guarantee():
    book = ledger(1, 1e-6)
    book.debit(gauss(0.1))
    told = book.to_dict()["guarantee"]
    assert told["epsilon"] == book.epsilon
    assert told["delta"] == 1e-6
    assert told["protection"]["neighbors"] == "add_remove"
    assert told["releasable"] is True


def first(written):
    return written["stages"][0]


DAMAGE = [
    lambda d: d.pop("stages"),
    lambda d: d.update(stages=[]),
    lambda d: first(d).pop("identity"),
    lambda d: first(d)["entries"][0].update(made={"mechanism": "Magic"}),
    lambda d: first(d)["entries"][0].update(made={"mechanism": "DiscreteLaplace"}),
    lambda d: first(d)["entries"][0].update(
        made={"mechanism": "DiscreteGaussian", "sigma2": "inf", "sensitivity": 1.0}
    ),
    lambda d: first(d)["budget"].update(epsilon="lots"),
    lambda d: first(d)["budget"].update(delta="2"),
    lambda d: first(d)["protection"].update(neighbors="swap"),
    lambda d: first(d)["protection"].update(shape="round"),
    lambda d: first(d).update(entries=3),
    lambda d: first(d)["entries"][0].pop("loss"),
    lambda d: first(d)["entries"][0].update(loss="free"),
    lambda d: first(d)["entries"][0]["loss"].update(epsilon="1/0"),
    lambda d: first(d)["entries"][1].update(rule="serial"),
    lambda d: first(d)["entries"][1].update(times=-1),
    lambda d: first(d)["entries"][2]["loss"].update(delta="x"),
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

import itertools
import math
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    GreedyForestClassifier,
    MatrixForestPredictor,
    NumericFeature,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Target,
)
from dpforest.audit import SMALL_SCHEMA, Chain, Table, exhaust, replay, replay_controls
from dpforest.audit.replay_draws import ForcedDraws, Joining, PartedError, RecordingDraws, Seats
from dpforest.audit.replay_losses import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    PERMUTE_AND_FLIP,
    THRESHOLD,
    NamedCounts,
    Release,
)
from dpforest.audit.script import exponential_law, permute_and_flip_law
from dpforest.audit.shown import Shown, digest
from dpforest.exceptions import SchemaError
from dpforest.literature.printed.random import SmoothLabelForest, SnrForest
from dpforest.privacy.mechanisms.splitting import NO_CANDIDATE

ONE = Schema((CategoricalFeature("a", (0, 1)),), Target(classes=(0, 1)))
X, Y = [[0.1, 0.0], [0.9, 1.0], [0.4, 1.0], [0.1, 0.0]], [0, 1, 0, 0]
TABLE = Table(np.array(X), np.array(Y))
NEIGHBOUR = Table(np.array([*X, [0.9, 0.0]]), np.array([*Y, 1]))


def forest(**options):
    shape = {"schema": SMALL_SCHEMA, "n_estimators": 2, "max_depth": 2, **options}
    return RandomDecisionForestClassifier(epsilon=1.0, **shape)


def release(mechanism, parameter, exact, outcome, **more):
    arrays = np.array(exact, np.int64), np.array(outcome, np.int64)
    return Release("", mechanism, Fraction(parameter), *arrays, **more)


def test_the_loss_of_laplace_noise_is_that_of_its_density():
    one, other = [3, 0, 5], [2, 2, 5]
    for outcome in itertools.product(range(-2, 7, 2), repeat=3):
        loss = release(LAPLACE, "3/2", one, outcome).loss_to(
            release(LAPLACE, "3/2", other, outcome)
        )
        log = [
            -sum(abs(y - a) for y, a in zip(outcome, totals, strict=True)) / Fraction(3, 2)
            for totals in (one, other)
        ]
        assert loss.path == log[1] - log[0]
        assert loss.up == loss.down == 2
        assert abs(loss.path) <= loss.up


@pytest.mark.parametrize("mechanism", [PERMUTE_AND_FLIP, EXPONENTIAL])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(5)])
def test_the_loss_of_choices_is_that_of_their_exact_laws(mechanism, rate):
    law = permute_and_flip_law if mechanism == PERMUTE_AND_FLIP else exponential_law
    one, other = [[5, 2, 9, 9], [1, 1, 40, 0]], [[6, 2, 9, 10], [1, 1, 40, 0]]
    with localcontext(prec=60):
        ratios = [float(b.ln() - a.ln()) for a, b in zip(law(one[0], rate), law(other[0], rate),
                                                         strict=True)]  # fmt: skip
    for chosen in range(4):
        asked = [release(mechanism, rate, utilities, [chosen, 2]) for utilities in (one, other)]
        loss = asked[0].loss_to(asked[1])
        assert loss.path == pytest.approx(ratios[chosen], abs=1e-12)
        assert loss.up == pytest.approx(max(ratios), abs=1e-12)
        assert loss.down == pytest.approx(-min(ratios), abs=1e-12)


def test_weights_hide_candidates_and_count_in_the_law():
    weights, rate = [2, 0, 5], Fraction(1, 2)
    one, other = [3, 100, 1], [3, 101, 2]
    known = {"weights": np.array(weights)}
    loss = release(EXPONENTIAL, rate, one, 2, **known).loss_to(
        release(EXPONENTIAL, rate, other, 2, **known)
    )
    laws = [exponential_law(utilities, rate, weights) for utilities in (one, other)]
    ratios = [math.log(laws[1][i] / laws[0][i]) for i in (0, 2)]
    assert loss.path == pytest.approx(ratios[1])
    assert (loss.up, loss.down) == pytest.approx((ratios[1], -ratios[0]))


def test_next_to_impossible_candidates_have_a_finite_loss():
    one, other = [7, NO_CANDIDATE], [9, NO_CANDIDATE]
    asked = [release(PERMUTE_AND_FLIP, "1/4", utilities, 0) for utilities in (one, other)]
    assert asked[0].loss_to(asked[1]).down == pytest.approx(0.5)


def test_gaussian_releases_add_up_in_squares():
    one, other = release(GAUSSIAN, 104, [3, 0], [0, 0]), release(GAUSSIAN, 104, [0, 4], [0, 0])
    loss = one.loss_to(other)
    assert (loss + loss).mu_squared == pytest.approx(2 * 0.5**2)
    assert loss.largest == 0


def test_values_of_one_table_only_cost_the_chance_to_be_named():
    def named(levels, counts, outcome):
        arrays = np.array(counts), np.array(outcome)
        return NamedCounts("", THRESHOLD, Fraction(2), *arrays, None, levels, 9)

    one, other = named(("a", "b"), [5, 7], [6, 7]), named(("a", "b", "c"), [5, 8, 2], [6, 7, 8])
    loss = one.loss_to(other)
    k = np.arange(-400, 400)
    chances = np.exp(-np.abs(k) / 2) / np.exp(-np.abs(k) / 2).sum()
    assert loss.delta == pytest.approx(chances[2 + k >= 9].sum())
    assert loss.up == Fraction(1, 2)
    assert one.follows_law_of(other)


@pytest.mark.parametrize("leaves", ["label", "counts"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_the_largest_loss_of_all_pairs_is_that_of_the_enumeration(leaves, neighbors):
    model = forest(schema=ONE, max_depth=1, leaves=leaves, neighbors=neighbors, random_state=3)
    records = list(itertools.product((0, 1), repeat=2))
    largest = 0.0
    for world in itertools.combinations_with_replacement(records, 2):
        for record in records:
            others = (record,) if neighbors == "add_remove" else (records[0],)
            tables = [
                Table(np.array(rows)[:, :-1], np.array(rows)[:, -1])
                for rows in ([*world, *others][: 2 + (neighbors == "replace_one")],
                             [*world, record])
            ]  # fmt: skip
            report = replay(model, *tables)
            assert report.holds
            largest = max(largest, report.largest_pure_loss)
    assert largest == pytest.approx(exhaust(model, records, most=3).worst_loss)


def test_samples_lose_what_the_enumeration_says_at_most():
    model = GreedyForestClassifier(
        epsilon=1.0, schema=ONE, n_estimators=1, max_depth=1, min_support=0, leaves="counts",
        sampling="without_replacement", sample_share=0.3, random_state=0,
    )  # fmt: skip
    true = exhaust(model.set_params(leaves="label"), [(0, 0), (1, 1)], least=2, most=3).worst_loss
    rows = [[0], [0], [1]], [0, 0, 1]
    reports = [
        replay(model, Table(rows[0][:n], rows[1][:n]), Table(rows[0][: n + 1], rows[1][: n + 1]),
               seed=seed)
        for n in (1, 2) for seed in range(20)
    ]  # fmt: skip
    assert all(report.holds for report in reports)
    assert max(report.largest_pure_loss for report in reports) >= true - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_coins_of_odd_records_are_a_mixture_over_all_ways_to_join(seed):
    # One tree with one way to split, and two odd records of one cell: k that join tell k / scale.
    p = 0.3
    model = GreedyForestClassifier(
        epsilon=1.0, schema=ONE, n_estimators=1, max_depth=1, min_support=0, leaves="counts",
        sampling="without_replacement", sample_share=p, stopping=None, max_records_per_group=2,
    )  # fmt: skip
    scripts = []

    def run(table, draws):
        scripts.append(draws.script)
        return Chain(model)(table, draws)

    tables = [Table([[0]] * n, [0] * n, [0, 1, 2, 2][:n]) for n in (2, 4)]
    report = replay(run, *tables, max_records_per_group=2, seed=seed)
    counts = scripts[0].releases[-1]
    both = next(script.releases[-1] for script in scripts
                if (script.releases[-1].exact - counts.exact).max() == 2)  # fmt: skip
    cell = np.unravel_index((both.exact - counts.exact).argmax(), counts.exact.shape)
    noise, chances = (
        counts.outcome[cell] - counts.exact[cell],
        [(1 - p) ** 2, 2 * p * (1 - p), p**2],
    )
    told = [(abs(noise) - abs(noise - k)) / float(counts.parameter) for k in range(3)]
    most = [k / float(counts.parameter) for k in range(3)]
    assert report.pure_loss == pytest.approx(abs(math.log(np.dot(chances, np.exp(told)))))
    assert report.largest_pure_loss == pytest.approx(math.log(np.dot(chances, np.exp(most))))
    assert report.holds


def test_dealt_records_cost_one_tree():
    reports = [
        replay(forest(sampling="disjoint", n_estimators=5), TABLE, NEIGHBOUR, seed=seed)
        for seed in range(5)
    ]
    assert {report.largest_pure_loss for report in reports} == {1.0}


def test_the_report_names_the_release_that_told_most():
    model = PrivateForestClassifier(schema=SMALL_SCHEMA, n_estimators=2, max_depth=1)
    report = replay(model, TABLE, NEIGHBOUR)
    assert report.holds
    assert report.worst_release.startswith("gradients and Hessians of the leaves (release ")
    assert 0.9 < report.tightness <= 1 + 1e-9
    assert report.loss == pytest.approx(1.0, rel=0.01)
    assert str(report).startswith("holds: (epsilon = 1, delta = 1e-06)")


def test_all_batches_of_a_predictor_are_replayed():
    predictor = MatrixForestPredictor(
        epsilon=1.0, epsilon_per_batch=0.4, schema=SMALL_SCHEMA, max_depth=1, n_estimators=2,
        strategy="identity",
    )  # fmt: skip
    report = replay(predictor, TABLE, NEIGHBOUR, questions=[X[:1], X[:2], X[:1], X[:3]])
    assert report.holds
    assert report.n_releases == 2  # one batch comes twice, and for the last nothing is left
    assert report.largest_pure_loss == pytest.approx(0.8)


CHAINS = [
    Chain(forest(), fails_after=1),
    Chain(forest(n_estimators="auto"), fails_after=1),
    Chain(forest(schema=None), {"epsilon": 3.0, "delta": 1e-6}, classes=(0, 1), fails_after=1),
    Chain(forest(schema=None), {"epsilon": 3.0, "delta": 1e-6}),
    Chain(PrivateForestClassifier(schema=SMALL_SCHEMA, n_estimators=2, warm_start=True), fits=2),
    Chain(
        PrivateForestClassifier(delta=0.0, n_estimators=3, max_depth=1, warm_start=True),
        {"epsilon": 3.0, "types": {"x0": "number", "x1": "number"}}, (0, 1), 2, 2, [X],
    ),
    Chain(
        MatrixForestPredictor(max_depth=1, n_estimators=1, epsilon_per_batch=0.3),
        {"epsilon": 3.0, "types": {"x0": "number", "x1": "integer"}}, (0, 1), 0, 1, [X[:1], X[:2]],
    ),
]  # fmt: skip


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("odd", [[0.9, 0.0], [None, 99.0]])
def test_the_printed_total_covers_a_whole_chain(chain, odd):
    many, labels = X * 30, Y * 30
    tables = Table(many, labels), Table([*many, odd], [*labels, 1])
    report = replay(chain, *tables)
    assert report.holds, str(report)
    assert report.loss <= report.guarantee.epsilon * (1 + 1e-9)
    assert report.pure_claim + report.mu_claim > 0


@pytest.mark.parametrize("name", replay_controls())
def test_controls_are_caught_and_what_is_honest_is_not(name):
    control = replay_controls()[name]
    assert not control.replay().holds
    honest = control.replay(broken=False)
    assert honest.holds
    assert honest.tightness > 0


def test_a_printed_algorithm_is_held_to_the_claim_that_is_given():
    options = {"schema": SMALL_SCHEMA, "max_depth": 1, "random_state": 0}
    printed = SmoothLabelForest(leaves="label", sampling="disjoint", n_estimators=1, **options)
    with pytest.raises(ValueError, match=r"claim=1\.0"):
        replay(printed, TABLE, NEIGHBOUR)
    assert not replay(printed, TABLE, NEIGHBOUR, claim=1.0).holds
    counted = SnrForest(pruning="snr", **options)
    many = [Table(np.tile(X, (k, 1)), np.tile(Y, k)) for k in (5, 200)]
    report = replay(counted, *many, claim=1.0)
    assert math.isinf(report.loss)
    assert report.leaks == (
        "the law of release 1, class counts of the leaves, depends on the records",
    )


def test_input_that_is_refused_is_refused_as_always():
    odd = Table(np.array([*X, [0.9, 0.0]]), np.array([*Y, 7]))
    with pytest.raises(SchemaError, match="not among the declared classes"):
        replay(forest(), TABLE, odd)


def test_the_common_records_of_replaced_persons_must_be_given():
    groups = np.arange(4)
    one, other = Table(TABLE.X, TABLE.y, groups), Table(TABLE.X[::-1], TABLE.y, groups)
    model = forest(max_records_per_group=1, neighbors="replace_one")
    with pytest.raises(ValueError, match="common="):
        replay(model, one, other)


def test_fits_that_part_are_leaks():
    record = RecordingDraws(0, Seats(3, 2))
    record.below(5, 3)
    forced = ForcedDraws(1, Seats(2, 2), Joining(), record.script)
    with pytest.raises(PartedError, match="drawn from"):
        forced.below(6, 2)
    coins = forced.below(5, 2)
    assert coins.tolist() == record.script.coins[0][1].tolist()
    with pytest.raises(PartedError, match="the other does not"):
        forced.below(5, 2)


def test_a_chance_to_be_sampled_that_depends_on_others_is_a_leak():
    record = RecordingDraws(0, Seats(3, 3))
    record.joins(np.array([1, 1, 1]), 2)
    forced = ForcedDraws(1, Seats(4, 3), Joining(), record.script)
    with pytest.raises(PartedError, match="chance of a record"):
        forced.joins(np.array([1, 1, 2, 1]), 2)


def test_an_odd_record_joins_only_where_it_is_told_to():
    seats = Seats(4, 3)
    record = RecordingDraws(0, Seats(3, 3))
    samples = [record.joins(np.array([1, 1, 1]), 2) for _ in range(3)]
    forced = ForcedDraws(1, seats, Joining(1, (True,)), record.script)
    for t, sample in enumerate(samples):
        assert forced.joins(np.array([1] * 4), 2).tolist() == [*sample.tolist(), t == 1]


def test_shown_is_all_that_is_public():
    model = forest(random_state=0).fit(TABLE.X, TABLE.y)
    parts = Shown.of(model).parts
    assert {"leaf_values_", "file: leaf_votes", "ledger_", "schema_", "epsilon"} <= parts.keys()
    again = forest(random_state=1).fit(TABLE.X, TABLE.y)
    assert "leaf_values_" in Shown.of(model).differences(Shown.of(again))
    assert not Shown.of(model).differences(Shown.of(model))


def test_a_digest_sees_types_values_and_structure():
    feature = NumericFeature("a", 0, 1)
    values = [1, 1.0, True, "1", [1], (1,), {"a": 1}, None, np.array([1]), np.array([1.0]),
              np.array([1], object), feature, Fraction(1), {1: "a"}]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)
    assert digest(feature) == digest(NumericFeature("a", 0.0, 1.0))

import itertools
import math

import numpy as np
import pytest

from dpforest import (
    CategoricalFeature,
    GreedyForestClassifier,
    MatrixForestPredictor,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Target,
)
from dpforest.audit import SMALL_SCHEMA, Chain, Table, exhaust, replay, replay_controls
from dpforest.exceptions import SchemaError
from dpforest.literature.printed.random import SmoothLabelForest, SnrForest
from dpforest.privacy.populations import Cells

ONE = Schema((CategoricalFeature("a", (0, 1)),), Target(classes=(0, 1)))
X, Y = [[0.1, 0.0], [0.9, 1.0], [0.4, 1.0], [0.1, 0.0]], [0, 1, 0, 0]
TABLE = Table(np.array(X), np.array(Y))
NEIGHBOUR = Table(np.array([*X, [0.9, 0.0]]), np.array([*Y, 1]))


def forest(**options):
    shape = {"schema": SMALL_SCHEMA, "n_estimators": 2, "max_depth": 2, **options}
    return RandomDecisionForestClassifier(epsilon=1.0, **shape)


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
    true = exhaust(model.set_params(leaves="label"), [(0, 0), (1, 1)], most=2).worst_loss
    reports = [
        replay(model, Table([[one]], [one]), Table([[one], [more]], [one, more]), seed=seed)
        for one in (0, 1) for more in (0, 1) for seed in range(20)
    ]  # fmt: skip
    two, three = Table([[0], [0]], [0, 0]), Table([[0], [0], [1]], [0, 0, 1])
    assert all(replay(model, two, three, seed=seed).holds for seed in range(20))
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
    # So many records, says the hint, that there is no linear start.
    model = PrivateForestClassifier(schema=SMALL_SCHEMA, n_estimators=2, max_depth=1, n_hint=10_000)
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


def test_a_fit_that_fails_after_a_release_is_an_outcome_like_others(monkeypatch):
    def fails(self, *terms):
        raise ValueError("no")

    monkeypatch.setattr(RandomDecisionForestClassifier, "_prepare_votes", fails)
    report = replay(forest(), TABLE, NEIGHBOUR)
    assert report.holds
    assert report.failure == "ValueError('no')"
    assert report.largest_pure_loss == report.pure_claim == 1.0


def test_a_failure_that_depends_on_a_record_is_a_leak(monkeypatch):
    honest = RandomDecisionForestClassifier._release

    def fails(self, desk):
        released = honest(self, desk)
        (exact,) = Cells((), tuple(self.encoding_.n_bins)).tables(desk, len(self.classes_), [()])
        if exact.sum() > len(Y):
            raise ValueError("no")
        return released

    monkeypatch.setattr(RandomDecisionForestClassifier, "_release", fails)
    report = replay(forest(), TABLE, NEIGHBOUR)
    assert report.leaks == ("that the fit fails differs though all outputs are the same",)
    assert not report.holds

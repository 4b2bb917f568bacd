import numpy as np
import pytest

from dpforest.audit import fuzz as module
from dpforest.audit import public_estimators, replay_controls
from dpforest.audit.fuzz import FuzzReport, fuzz, main
from dpforest.audit.fuzz_containers import containers, put_columns, put_tables
from dpforest.audit.fuzz_options import OPTIONS
from dpforest.audit.fuzz_settings import draw_setting
from dpforest.audit.replay_draws import RecordingDraws
from dpforest.tables.frames import Frame

SETTINGS = 300


@pytest.fixture(scope="module")
def replayed():
    """What was found, and what the ledgers called the releases."""
    labels, settle = set(), RecordingDraws._settle

    def listening(self, asked, draw):
        labels.add(asked.label)
        return settle(self, asked, draw)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecordingDraws, "_settle", listening)
        return fuzz(SETTINGS, seed=0), labels


@pytest.fixture(scope="module")
def report(replayed):
    return replayed[0]


def test_no_setting_loses_more_than_is_claimed(report):
    assert report.n_replayed == SETTINGS
    assert report.holds, str(report)


def test_every_estimator_is_replayed_and_most_of_its_claim_is_found(report):
    assert report.estimators.keys() == public_estimators().keys() | {"PrivateSearchCV"}
    for tally in report.estimators.values():
        assert tally.n_held > SETTINGS / 20
        assert 0.8 < tally.worst <= 1 + 1e-9
    assert report.n_refused < SETTINGS / 5


def test_settings_are_of_many_kinds():
    settings = [draw_setting(0, number) for number in range(SETTINGS)]
    assert len({setting.kind for setting in settings}) > SETTINGS / 2
    for trait in (
        lambda s: s.estimator.neighbors == "replace_one",
        lambda s: s.estimator.max_records_per_group is not None,
        lambda s: getattr(s.estimator, "delta", 0.0) > 0,
        lambda s: getattr(s.estimator, "sampling", "") == "without_replacement",
        lambda s: getattr(s.estimator, "strategy", "") == "residuals",
        lambda s: s.chain.fits == 2,
        lambda s: s.chain.fails_after > 0,
        lambda s: bool(s.chain.inferred),
        lambda s: len(s.table.y) > len(s.neighbour.y),
        lambda s: s.search is not None and s.estimator.neighbors == "replace_one",
        lambda s: s.search is None and getattr(s.estimator, "n_estimators", 1) == "auto",
        lambda s: s.estimator.schema.n_features >= 20,
    ):
        assert SETTINGS / 100 < sum(map(trait, settings)) < SETTINGS


def test_small_tables_get_one_rule_and_wide_ones_choose_questions(replayed):
    _, labels = replayed
    for what in ("choice of a rule", "choice of a question", "linear start"):
        assert any(what in label for label in labels)


@pytest.mark.parametrize("name", public_estimators())
def test_every_option_is_drawn(name):
    shared = {"epsilon", "schema", "neighbors", "max_records_per_group", "random_state", "n_jobs"}
    # A budget adds up ledgers of several fits, which chains do by themselves.
    known = public_estimators()[name]().get_params().keys() - {"verbose", "budget"}
    assert OPTIONS[name].keys() | shared == known


def test_a_setting_is_the_same_whenever_it_is_drawn():
    assert str(draw_setting(3, 7)) == str(draw_setting(3, 7))
    assert str(draw_setting(3, 7)) != str(draw_setting(3, 8))


@pytest.mark.parametrize("name", ["one-step", "schema-for-free"])
def test_a_broken_library_is_found_in_random_settings(name):
    with replay_controls()[name].breaking():
        found = fuzz(60, seed=1)
    assert not found.holds
    assert "BROKEN" in str(found)


def test_a_fit_that_fails_after_a_release_is_broken(monkeypatch):
    def fails():
        error = ValueError("no")
        error.add_note("it had made 1 releases")
        raise error

    setting = draw_setting(0, 0)
    monkeypatch.setattr(type(setting), "replay", lambda self: fails())
    report = FuzzReport(0)
    report.add(0, setting)
    assert "failed: ValueError" in report.broken[0]


@pytest.mark.parametrize("kind", containers())
def test_containers_keep_every_value(kind):
    columns = {"a": [1, 2, 3], "b": [0.5, None, 2.0], "c": ["x", "y", None]}
    for table in put_tables([columns, {name: c[:2] for name, c in columns.items()}], kind):
        frame = Frame(table)
        a, c = frame.column(0), frame.column(2)
        assert [int(value) for value in a] == [1, 2, 3][: len(a)]
        assert list(c[:2]) == ["x", "y"]
        assert frame.n_columns == 3


@pytest.mark.parametrize("kind", containers())
def test_a_container_that_would_change_a_value_is_not_used(kind):
    large = 2**53 + 1
    for values in put_columns([[large, 0.5], [large, large]], kind):
        assert next(int(value) for value in values) == large


def test_where_types_are_asked_they_stay_what_they_are():
    column = {"a": [True, False], "b": [7, 8]}
    (loose,), (strict,) = (put_tables([column], "numpy", strict=s) for s in (False, True))
    assert loose.dtype.kind == "i"
    assert strict == [[True, 7], [False, 8]]


def test_numbers_in_arrays_have_the_type_that_was_asked_for():
    one, other = put_tables([{"a": [0.1, 0.2]}, {"a": [0.1, None]}], "numpy float32")
    assert one.dtype == np.float32
    assert other.dtype == object
    assert isinstance(other[0, 0], np.float32)


def test_the_command_line_says_what_was_found(capsys):
    with pytest.raises(SystemExit) as finished:
        main(["--settings", "4", "--seed", "2"])
    assert finished.value.code == 0
    assert "4 settings replayed" in capsys.readouterr().out
    main(["--only", "0", "--seed", "2"])
    assert "holds: " in capsys.readouterr().out
    assert module.main is main

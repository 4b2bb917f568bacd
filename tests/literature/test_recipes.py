"""Recipes: every one is told in full, and a table that contradicts itself is refused."""

from importlib import resources

import pytest

from dpforest import literature
from dpforest.literature.recipes import FAMILIES, parse, recipes

ASKED_FOR = """
private_rdt diffprf_infogain diffprf_max diffprf_gini snr_forest dprf_mv dprf_ta dprf_pa dprf_gini
smooth_forest dprf_hou dpgdf dprf_maxtree diprime dp_ert dp_df tpdprf diffprf_linear
diffprf_deng edprf dprf_thesis mrf_train mrf_predict mrf_subsample mrf_laplace disjoint_laplace
rana"""

ENTRY = {
    "title": "T",
    "authors": "A",
    "paper": "P",
    "year": 2000,
    "venue": "V",
    "documents": ["000"],
    "parts": dict.fromkeys(("sampling", "splits", "budget", "leaves", "votes"), "x"),
    "guarantee": "holds",
    "because": "it does",
    "estimator": "dpforest:RandomDecisionForestClassifier",
}
REPAIRED = ENTRY | {"guarantee": "repaired", "flaws": ["f"], "as_published": {"leaves": "label"}}
NONE = ENTRY | {"guarantee": "none", "estimator": "", "not_offered": "why"}


def test_every_system_asked_for_is_there():
    assert set(ASKED_FOR.split()) <= set(literature.names())


@pytest.mark.parametrize("name", literature.names())
def test_every_system_describes_itself(name):
    told = literature.describe(name)
    text = str(told)
    assert text.startswith(f"{name}: {told.title}")
    for part in (
        str(told.paper),
        told.because,
        *told.documents,
        *told.flaws,
        *told.notes,
        *(figure.source for figure in told.published),
        *vars(told.parts).values(),
    ):
        assert part in text
    assert set(told.documents) <= {"000", "001", "002", "003", "004"}
    assert 2009 <= told.paper.year <= 2025


def test_figures_are_of_documents_of_ours():
    for told in recipes().values():
        for figure in told.published:
            assert figure.source[:3] in told.documents


def test_an_unknown_name_is_told_its_neighbours():
    with pytest.raises(ValueError, match="did you mean edprf"):
        literature.describe("edrpf")
    with pytest.raises(ValueError, match="known: private_rdt"):
        literature.make("zzz")


@pytest.mark.parametrize("entry", [ENTRY, REPAIRED, NONE])
def test_a_sound_table_is_taken(entry):
    assert parse("x", entry).because == "it does"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ENTRY | {"guarantee": "maybe"}, "guarantee is one of"),
        (ENTRY | {"because": ""}, "a reason"),
        (ENTRY | {"flaws": ["f"]}, "no flaws"),
        (ENTRY | {"as_published": {}}, "no other variant"),
        (ENTRY | {"estimator": "Oak"}, "module:Class"),
        (ENTRY | {"parameters": {"max_depth": {"rule": "guess"}}}, "rules are"),
        (REPAIRED | {"flaws": []}, "has flaws"),
        (REPAIRED | {"not_offered": "why"}, "says why not"),
        (NONE | {"estimator": "dpforest:Oak"}, "is not made"),
        (NONE | {"not_offered": ""}, "says why"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(entry, message):
    with pytest.raises(ValueError, match=message):
        parse("x", entry)


def test_unknown_keys_are_refused():
    with pytest.raises(TypeError, match="colour"):
        parse("x", ENTRY | {"colour": "green"})


def test_every_file_of_recipes_is_read():
    folder = resources.files("dpforest.literature") / "recipes"
    assert {file.name for file in folder.iterdir()} == {f"{family}.toml" for family in FAMILIES}

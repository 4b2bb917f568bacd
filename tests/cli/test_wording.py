"""Errors speak of options, not of Python; and every translated phrase is still in the source."""

import re

import pytest

from benchmarks.pages import ROOT
from dpforest.cli.wording import PHRASES, in_users_words
from tests.cli.conftest import patients, run

PYTHON = re.compile(
    r"math\.|universe|\bNone\b|\bNaN\b|Schema\.|Budget\.|Target\(|fit\(|save\(|overwrite=|"
    r"\b(?:types|groups|delta|classes)=|max_records_per_group|\bX\b|\by contains"
)


def sources():
    """The texts of all messages: strings that lines break are put together."""
    texts = []
    for path in (ROOT / "src/dpforest").rglob("*.py"):
        if path.name != "wording.py":
            text = path.read_text(encoding="utf-8")
            texts.append(re.sub(r'"\s*\n\s*f?"', "", text).replace("{{", "{").replace("}}", "}"))
    return "\n".join(texts)


def test_every_phrase_is_one_that_the_library_says():
    everything = sources()
    # A parameter's name is put in by its check.
    said = [phrase for phrase, _ in PHRASES if phrase != "max_records_per_group must"]
    assert [phrase for phrase in said if phrase not in everything] == []


def test_what_is_said_instead_is_no_python():
    assert [said for _, said in PHRASES if PYTHON.search(said)] == []
    assert in_users_words("nothing to translate") == "nothing to translate"


@pytest.fixture(scope="module")
def odd(shop, tmp_path_factory):
    """Tables that do not fit, and schemas that do not fit them."""
    folder = tmp_path_factory.mktemp("odd")
    table = patients(40)
    for name, change in {
        "text": {"age": "old"}, "class": {"relapse": "perhaps"}, "unlabelled": {"relapse": None},
    }.items():  # fmt: skip
        table.assign(**change).to_csv(folder / f"{name}.csv", index=False)
    table.head(0).to_csv(folder / "empty.csv", index=False)
    table.to_csv(folder / "good.csv", index=False)
    doubled = "patient_id,age,age,ward,relapse\nP1,30,30,north,no\n"
    (folder / "doubled.csv").write_text(doubled, encoding="utf-8")
    text = (shop / "schema.json").read_text(encoding="utf-8")
    (folder / "schema.json").write_text(text, encoding="utf-8")
    return folder


FIT = ("--schema", "schema.json", "-o", "m.dpforest")
PAY = ("--target", "relapse", "-o", "s.json", "--epsilon", 1)
PERSONS = ("--groups", "patient_id")
WRONG = {
    "negative epsilon": ("fit", "good.csv", *FIT, "--epsilon", -1),
    "no bound": ("fit", "good.csv", *FIT, *PERSONS),
    "no groups": ("fit", "good.csv", *FIT, "--max-records-per-group", 2),
    "no records of a person": ("fit", "good.csv", *FIT, *PERSONS, "--max-records-per-group", 0),
    "text": ("fit", "text.csv", *FIT),
    "class": ("fit", "class.csv", *FIT),
    "unlabelled": ("fit", "unlabelled.csv", *FIT),
    "empty": ("fit", "empty.csv", *FIT),
    "doubled": ("fit", "doubled.csv", *FIT),
    "a number": ("fit", "good.csv", *FIT, "--estimator", "MedianForestRegressor"),
    "no budget": ("fit", "good.csv", *FIT, "--budget", "nowhere.db"),
    "no model": ("predict", "nowhere", "good.csv", "-o", "p.csv"),
    "delta to search": ("schema", "good.csv", *PAY),
    "no bound of a schema": ("schema", "good.csv", *PAY, "--delta", 1e-6, *PERSONS),
    "nothing stands out": ("schema", "good.csv", *PAY, "--delta", 1e-6, "--epsilon", 0.001),
    "no such categories": ("schema", "good.csv", *PAY, "--categories", "nobody=a,b"),
    "a budget again": ("budget", "create", "good.csv", "--epsilon", 1, "--table", "t"),
    "no budget to show": ("budget", "show", "nowhere.db"),
    "persons of a budget": (
        "budget", "create", "new.db", "--epsilon", 1, "--table", "t", "--max-records-per-group", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors_speak_of_options(odd, monkeypatch, case):
    monkeypatch.chdir(odd)
    result = run(*WRONG[case])
    assert result.exit_code == 1
    *remarks, error = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert not PYTHON.search(error), error
    assert all(remark.startswith("not in the schema") for remark in remarks)


def test_control_python_would_be_seen():
    assert PYTHON.search("use math.inf for no privacy at all")
    assert PYTHON.search("declare the classes (universe={'ill': [...]})")

"""Every Python block in the pages for users runs, and prints what the page says it prints."""

import ast
import re
from functools import cache
from importlib import import_module

import pytest

from benchmarks.pages import BLOCK, PAGES, ROOT, printed_by


def blocks(page: str) -> list[tuple[str, str]]:
    """The Python and text blocks of a page, in order, with their languages."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(page, {})


def run_blocks(page: str, names: dict[str, object]) -> None:
    """Run the Python blocks of a page; they must print what its text blocks say."""
    printed = ""
    for language, content in blocks(page):
        if language == "python":
            assert printed == "", f"{page} does not show what a block prints:\n{printed}"
            printed = printed_by(content, names)
        else:
            assert content == printed, f"{page} should say (python -m benchmarks.pages):\n{printed}"
            printed = ""
    assert names, f"{page} has no Python block"
    assert printed == ""


def test_the_readmes_example_is_short():
    example = next(content for language, content in blocks("README.md") if language == "python")
    statements = [line for line in example.splitlines() if line.strip()]
    assert len(statements) <= 15


def test_the_readme_opens_with_the_two_commands():
    opening = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:6]
    assert [line.split("#")[0].strip() for line in opening if line.startswith("$")] == [
        "$ make demo",
        "$ make test",
    ]


EVERY_PAGE = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_links_to_files_lead_somewhere(page):
    path = ROOT / page
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_site_loads_nothing_from_elsewhere():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    scripts = re.search(r"^extra_javascript:\n((?:  - .*\n)+)", settings, re.MULTILINE)
    assert scripts is not None
    files = re.findall(r"  - (\S+)", scripts[1])
    assert [file for file in files if not (ROOT / "docs" / file).is_file()] == []
    assert "  font: false\n" in settings  # else the theme asks Google for its fonts


def code_of(page: str) -> dict[str, int]:
    """The classes and functions that a page shows, with their lines of code."""
    sources = [content for language, content in blocks(page) if language == "python"]
    return {
        node.name: sum(bool(line.strip()) for line in ast.unparse(node).splitlines())
        for source in sources
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }


def test_the_examples_for_contributors_are_as_small_as_the_house_promises():
    lines = code_of("docs/contributing.md")
    assert lines["StumpForestClassifier"] <= 30
    assert lines["MissingCounts"] <= 10
    assert lines["StoreOfParts"] <= 10
    assert lines["careful_derivatives"] + lines["Careful"] <= 10


def resolves(name: str) -> bool:
    """Whether a dotted name is that of a module, or of something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found is not None
    return False


@cache
def python_files() -> frozenset[str]:
    """Every file of ours with code."""
    return frozenset(str(path) for part in ROOT.glob("[!.]*/") for path in part.rglob("*.py"))


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_names_and_files_that_a_page_mentions_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    names = set(re.findall(r"\bdpforest(?:\.[A-Za-z_]\w*)+", text)) - {
        "dpforest.sig",
        "dpforest.fish",
    }
    assert [name for name in sorted(names) if not resolves(name)] == []
    told = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
    files = python_files()
    assert [name for name in sorted(told) if not any(f.endswith(f"/{name}") for f in files)] == []


def test_control_a_name_that_moved_is_seen():
    assert not resolves("dpforest.privacy.curator")
    assert not resolves("dpforest.privacy.noise.discrete_laplace")
    assert resolves("dpforest.privacy.mechanisms.noise.discrete_laplace")

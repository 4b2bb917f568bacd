"""Every Python block in the pages for users runs, and prints what the page says it prints."""

import re

import pytest

from benchmarks.pages import BLOCK, PAGES, ROOT, printed_by


def blocks(page: str) -> list[tuple[str, str]]:
    """The Python and text blocks of a page, in order, with their languages."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
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


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
)
def test_links_to_files_lead_somewhere(page):
    path = ROOT / page
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []

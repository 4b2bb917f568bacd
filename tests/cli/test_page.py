"""Every example of the page about the command line runs, and prints what the page says."""

import re
import shlex
import shutil
import subprocess

import pytest

from benchmarks.pages import ROOT
from tests.cli.conftest import run, write_patients

PAGES = ("docs/command-line.md", "docs/report.md", "docs/evaluation.md")
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(page):
    """The commands of a page, in order, each with the lines it is said to print."""
    found = []
    for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(write_patients(tmp_path))
    if page != "docs/command-line.md":
        fitted = "fit patients.csv --schema schema.json --estimator RandomDecisionForestClassifier"
        assert run(*shlex.split(fitted), "-o", "model.dpforest").exit_code == 0
        assert run("budget", "create", "ward7.db", "--epsilon", 3, "--table", "w").exit_code == 0
    assert commands(page)
    for command, printed in commands(page):
        program, *arguments = shlex.split(command)
        if program == "openssl":
            if shutil.which("openssl") is None:
                pytest.skip("needs openssl for the examples with keys")
            subprocess.run([program, *arguments], check=True, capture_output=True)
            continue
        assert program == "dpforest", command
        result = run(*arguments)
        assert result.exit_code == 0, f"{command}: {result.stderr}"
        for line in printed:
            assert line in result.output.splitlines(), command


def test_every_command_is_on_the_page():
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    listed = re.findall(r"^  (\w+)  ", run("--help").stdout, re.MULTILINE)
    assert len(listed) > 10
    assert [name for name in listed if f"| `dpforest {name}" not in text] == []

"""Completion, asked of the shells themselves where they are installed."""

import shutil
import subprocess

import pytest
from typer.main import get_command

from dpforest.cli import app, estimators
from tests.cli.conftest import run_well


def script(shell):
    return run_well("completion", shell).stdout


def complete(*words):
    """What bash offers for the last of these words."""
    listed = " ".join(f"'{word}'" for word in words)
    asked = (
        f"{script('bash')}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        '_dpforest; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@needs_bash
def test_bash_offers_commands_options_and_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients.csv").touch()
    assert {"fit", "predict", "budget", "report"} <= complete("dpforest", "")
    assert complete("dpforest", "ver") == {"verify"}
    assert complete("dpforest", "fit", "--eps") == {"--epsilon"}
    assert complete("dpforest", "budget", "") >= {"create", "show", "history", "check"}
    assert "--set-aside" in complete("dpforest", "budget", "create", "--")
    assert "--probabilities" in complete("dpforest", "predict", "m", "--")
    assert "--probabilities" not in complete("dpforest", "fit", "t.csv", "--")
    offered = complete("dpforest", "fit", "t.csv", "--estimator", "")
    assert offered == set(estimators.offered())
    assert complete("dpforest", "fit", "--neighbors", "re") == {"replace_one"}
    assert "patients.csv" in complete("dpforest", "fit", "pat")
    assert "--features-only" in complete("dpforest", "schema", "check", "--f")


@needs_bash
def test_a_table_that_is_called_like_a_command_is_no_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--estimator" in complete("dpforest", "fit", "predict", "--est")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_offers_what_bash_does():
    asked = (
        "autoload -U compinit; compinit -u -D\n"
        f"{script('zsh')}\nCOMP_WORDS=(dpforest budget create --); COMP_CWORD=3; COMPREPLY=()\n"
        'emulate ksh -c _dpforest; print -l -- "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["zsh", "-fc", asked], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) >= complete("dpforest", "budget", "create", "--")


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_offers_commands_options_and_values():
    lines = ("fit --eps", "budget cre", "fit --estimator Gree")
    asked = "; ".join(f'complete -C "dpforest {line}"' for line in lines)
    command = f"{script('fish')}\n{asked}"
    done = subprocess.run(["fish", "-c", command], capture_output=True, text=True, check=True)
    offered = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert offered == ["--epsilon", "create", "GreedyForestClassifier"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(shell):
    written = script(shell)

    def walk(command):
        for option in (p for p in command.params if p.param_type_name == "option"):
            for name in option.opts:
                assert (name if shell != "fish" else name.lstrip("-")) in written
        for name, inner in getattr(command, "commands", {}).items():
            assert name in written
            walk(inner)

    walk(get_command(app))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_takes_the_script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(script(shell), encoding="utf-8")
    subprocess.run([shell, "-n", tmp_path / "script"], check=True, capture_output=True)

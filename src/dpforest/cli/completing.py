"""``dpforest completion``: scripts by which a shell completes commands, options and values.

They are written from the commands themselves, so that they are never behind, and hold all there
is to know: the shell need not start Python to complete a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import typer
from typer.main import get_command

from dpforest.cli import estimators
from dpforest.cli.commands import app
from dpforest.privacy.accounts.protection import Neighbors

Shell = Literal["bash", "zsh", "fish"]
CHOICES = {"estimator": estimators.offered(), "neighbors": get_args(Neighbors)}
"""The values of options that take few."""


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell to complete in.")],
) -> None:
    """Print a script by which a shell completes commands.

    bash: add to ~/.bashrc  eval "$(dpforest completion bash)"

    zsh: add to ~/.zshrc, after compinit  eval "$(dpforest completion zsh)"

    fish: dpforest completion fish > ~/.config/fish/completions/dpforest.fish
    """
    typer.echo({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](), nl=False)


@dataclass(frozen=True)
class _Option:
    """An option: its names, what it is for, whether it takes a value, and which it may be."""

    names: tuple[str, ...]
    told: str
    takes_value: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Command:
    """A command as it is typed, what it is for, its own commands and its options."""

    words: tuple[str, ...]
    told: str
    commands: tuple[str, ...]
    options: tuple[_Option, ...]


def _commands(found: Any = None, words: tuple[str, ...] = ()) -> Iterator[_Command]:
    """Every command of the parser, groups before what is in them."""
    found = found or get_command(app)
    inner = getattr(found, "commands", {})
    options = [_option(each) for each in found.params if each.param_type_name == "option"]
    told = (found.help or "").split("\n")[0]
    yield _Command(words, told, tuple(inner), (*options, _Option(("--help",), "Show help.", False)))
    for name, each in inner.items():
        yield from _commands(each, (*words, name))


def _option(parameter: Any) -> _Option:
    names = (*parameter.opts, *parameter.secondary_opts)
    choices = CHOICES.get(parameter.name, ())
    return _Option(names, parameter.help or "", not parameter.is_flag, tuple(choices))


def _bash() -> str:
    """Walk along the typed words to the command they name, then offer what it has."""
    commands = {" ".join(each.words): each for each in _commands()}
    steps = [f'      "{words}") command="{words}" ;;' for words in commands if words]
    values = [
        f'    "{words} {name}") known="{" ".join(option.choices)}"; files="" ;;'
        for words, each in commands.items()
        for option in each.options
        for name in option.names
        if option.choices
    ]
    known = [
        f'    "{words}") known="{" ".join([*each.commands, *_names(each)])}" ;;'
        for words, each in commands.items()
    ]
    return "\n".join(
        [
            "_dpforest() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            '  local command="" known="" files="yes" word',
            "  local place=1",
            "  while (( place < COMP_CWORD )); do",
            '    word="${COMP_WORDS[place]}"',
            '    case "${command:+$command }$word" in',
            *steps,
            "    esac",
            "    place=$((place + 1))",
            "  done",
            '  case "$command" in',
            *known,
            "  esac",
            '  case "$command $before" in',
            *values,
            "  esac",
            '  COMPREPLY=($(compgen -W "$known" -- "$current"))',
            '  [[ -z "$files" || "$current" == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))',
            "}",
            "complete -o filenames -F _dpforest dpforest",
            "",
        ]
    )


def _names(command: _Command) -> list[str]:
    return [name for option in command.options for name in option.names]


def _zsh() -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    lines: list[str] = []
    commands = {each.words: each for each in _commands()}
    for each in commands.values():
        here = "__fish_use_subcommand"
        if each.words:
            here = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in each.words)
        for name in each.commands:
            told = _quoted(commands[*each.words, name].told)
            lines.append(f"complete -c dpforest -n '{here}' -a {name} -d {told}")
        for option in each.options:
            names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
            value = " -r" if option.takes_value else ""
            choices = f" -f -a '{' '.join(option.choices)}'" if option.choices else ""
            lines.append(
                f"complete -c dpforest -n '{here}' {' '.join(names)}{value}{choices} "
                f"-d {_quoted(option.told)}"
            )
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return "'" + " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'") + "'"

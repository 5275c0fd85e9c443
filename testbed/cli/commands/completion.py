"""`cbn completion`: what makes a shell complete the commands, options and scenarios of `cbn`.

Everything is taken from the command line itself, so that nothing has to be kept up to date by hand.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from testbed.cli import exits
from testbed.cli.command import MACHINE, Command

_HELP = """\
examples:
  eval "$(cbn completion bash)"                          in this shell
  cbn completion bash > /etc/bash_completion.d/cbn       in every bash of this machine
  echo 'eval "$(cbn completion zsh)"' >> ~/.zshrc        in every zsh of yours
"""
_SCENARIO = "SCENARIO"
_BASH = """\
# Completes cbn; made by `cbn completion`.
_cbn() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path="" word words="" files=1
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$path $word" in
            @PATHS@) path="$path $word" ;;
        esac
    done
    case "$path $before" in
@VALUES@
    esac
    if [[ -z $words ]]; then
        case "$path" in
@WORDS@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [[ $files == 1 && $current != -* ]]; then
        COMPREPLY+=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _cbn cbn
"""
_ZSH = "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="for which shell")


def _completion(args: argparse.Namespace) -> int:
    print((_ZSH if args.shell == "zsh" else "") + script(), end="")
    return exits.OK


def script() -> str:
    """What a shell that knows `complete` is to execute."""
    from testbed.cli.parser import build_parser
    from topologies.library import scenario_names

    found = dict(_parsers("", build_parser()))
    paths = "|".join(shlex.quote(path) for path in found if path)
    values = [line for path, parser in found.items() for line in _values(path, parser)]
    words = [_words(path, parser, scenario_names()) for path, parser in found.items()]
    filled = _BASH.replace("@PATHS@", paths).replace("@VALUES@", "\n".join(values))
    return filled.replace("@WORDS@", "\n".join(words))


def _parsers(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The command line and all its subcommands, each with the words that lead to it."""
    yield path, parser
    for name, inner in _subcommands(parser).items():
        yield from _parsers(f"{path} {name}", inner)


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _values(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """After an option with a value: its choices, or files."""
    for action in parser._actions:
        if not action.option_strings or action.nargs == 0:
            continue
        patterns = "|".join(shlex.quote(f"{path} {option}") for option in action.option_strings)
        choices = " ".join(map(str, action.choices or ()))
        what = f"words={shlex.quote(choices)} files=0" if choices else "words=' '"
        yield f"        {patterns}) {what} ;;"


def _words(path: str, parser: argparse.ArgumentParser, scenarios: list[str]) -> str:
    """The words that may follow: subcommands, options, and what its arguments can be."""
    subcommands = list(_subcommands(parser))
    words = [*subcommands, *(option for action in parser._actions for option in action.option_strings)]
    takes_files = False
    for action in parser._actions:
        if not action.option_strings and not isinstance(action, argparse._SubParsersAction):
            words += map(str, action.choices or ())
            words += scenarios if action.metavar == _SCENARIO else []
            takes_files |= not action.choices
    return (
        f"            {shlex.quote(path)}) words={shlex.quote(' '.join(words))} files={int(takes_files)} ;;"
    )


COMMAND = Command(
    "print what makes a shell complete cbn's command line", _arguments, _completion, MACHINE, _HELP
)

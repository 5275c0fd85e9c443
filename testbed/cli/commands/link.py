"""`cbn link`: change or show a link of a running network."""

from __future__ import annotations

import argparse
from typing import Any

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json, add_network
from testbed.cli.output import show
from topologies.fault_kinds import LINK_CONTROL

_ALONE = (*LINK_CONTROL, "clear", "reset", "show")

_HELP = """\
examples:
  cbn link r1-r2 down                    take it down; `up` brings it up
  cbn link r1-r2 delay 30ms              both ways
  cbn link r1-r2 loss 0.1 back delay 50ms
      loss both ways; on the way from r2 to r1 also a delay
  cbn link r1-r2 delay none              take the delay away
  cbn link r1-r2 clear                   no impairment any more
  cbn link r1-r2 reset                   as the scenario has it
  cbn link r1-r2 rekey                   give both ends a new key (`security`)
  cbn link r1-r2                         show it; `cbn link` shows all

The words and values are those of scenarios: delay, jitter, loss, loss_burst, rate,
duplicate, reorder, corrupt, queue_packets, queue_bytes. What is changed is an event of
the run, so that the analysis knows of it.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("link", nargs="?", metavar="A-B", help="the link's ends (default: show all links)")
    parser.add_argument("words", nargs="*", metavar="WORD", help="what it is to do")
    add_network(parser)
    add_json(parser)


def _link(args: argparse.Namespace) -> int:
    """Change a link, and show what it then does; or show all links."""
    from testbed.cli.networks import talk

    with talk(args.run) as (_, caller):
        if args.link is None:
            links = caller.ask("links")["links"]
        else:
            links = [caller.ask("link", link=args.link, **request(args.words))]
    return show(args.json, links if args.link is None else links[0], "\n".join(map(_line, links)))


def request(words: list[str]) -> dict[str, Any]:
    """The request that words such as `delay 30ms back loss 0.1` make.

    Raises:
        CommandError: they are no pairs.
    """
    if not words:
        return {"change": "show"}
    if words[0] in _ALONE:
        if len(words) > 1:
            raise exits.CommandError(f"after {words[0]} nothing may follow; found {' '.join(words[1:])}")
        return {"change": words[0]}
    at = words.index("back") if "back" in words else len(words)
    to = _pairs(words[:at])
    if at < len(words):
        to["back"] = _pairs(words[at + 1 :])
    return {"change": "impair", "to": to}


def _pairs(words: list[str]) -> dict[str, Any]:
    if len(words) % 2:
        raise exits.CommandError(
            f"{words[-1]}: expected pairs such as `delay 30ms loss 0.1`, or one of {', '.join(_ALONE)}"
        )
    return {word: _value(text) for word, text in zip(words[::2], words[1::2], strict=True)}


def _value(text: str) -> object:
    """A number if it is one; None for `none`; else the text, as a scenario would hold it."""
    if text == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _line(row: dict[str, Any]) -> str:
    there, back = (_words(row[way]) for way in ("there", "back"))
    what = there if there == back else f"{there}; back: {back}"
    key = f"  key {row['key']}" if row["key"] else ""
    return f"{row['a']}-{row['b']:<10} {'up  ' if row['up'] else 'DOWN'}  {row['carrier']:<5}{key}  {what}"


def _words(values: dict[str, Any]) -> str:
    return " ".join(f"{word} {value}" for word, value in values.items()) or "no impairment"


COMMAND = Command("change or show a link of a running network", _arguments, _link, NETWORKS, _HELP)

"""`cbn link` and `cbn node`: break, mend, change and look at the parts of a running network."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from testbed.cli import exits
from testbed.cli.networks import choose, talk
from testbed.emu.running import Running

_ALONE = ("down", "up", "clear", "reset", "show")
FOLLOW_S = 0.2


def link(args: argparse.Namespace) -> int:
    """Change a link, and show what it then does; or show all links."""
    with talk(args.run) as (_, caller):
        if args.link is None:
            links = caller.ask("links")["links"]
        else:
            links = [caller.ask("link", link=args.link, **_wanted(args.words))]
    if args.json:
        print(json.dumps(links if args.link is None else links[0], indent=1, ensure_ascii=False))
    else:
        print("\n".join(_line(row) for row in links))
    return exits.OK


def node(args: argparse.Namespace) -> int:
    """Break or mend a node, or show its status, tables or log."""
    if args.do == "log":
        return _log(choose(args.run), args.node, args.follow)
    with talk(args.run) as (_, caller):
        if args.do in ("status", "tables"):
            about = caller.ask("node", node=args.node, ask=args.do)
            print(_answer(about["answer"], args.do == "tables" and not args.json))
            return exits.OK
        about = caller.ask("fault", node=args.node, fault=args.do)
    print(json.dumps(about, indent=1) if args.json else f"{about['name']} is {about['state']}")
    return exits.OK


def _wanted(words: list[str]) -> dict[str, Any]:
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
    told = _pairs(words[:at])
    if at < len(words):
        told["back"] = _pairs(words[at + 1 :])
    return {"change": "impair", "to": told}


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
    return f"{row['a']}-{row['b']:<10} {'up  ' if row['up'] else 'DOWN'}  {row['carrier']:<5}  {what}"


def _words(told: dict[str, Any]) -> str:
    return " ".join(f"{word} {value}" for word, value in told.items()) or "nothing happens to packets"


def _answer(answer: dict[str, Any], as_text: bool) -> str:
    return str(answer["text"]).rstrip() if as_text else json.dumps(answer, indent=1, ensure_ascii=False)


def _log(run: Running, name: str, follow: bool) -> int:
    from testbed.cli.attach import node_of

    path = Path(run.record["directory"]) / "logs" / f"{node_of(run, name)}.jsonl"
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                print(line, end="")
            while follow and run.alive:
                piece = lines.read()
                print(piece, end="", flush=True)
                if not piece:
                    time.sleep(FOLLOW_S)
    except FileNotFoundError as error:
        raise exits.CommandError(f"{os.fspath(path)}: there is no log (yet)", exits.FAILED) from error
    return exits.OK

"""`cbn export`: all captures of a run in one pcapng file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json
from topologies.quantities import how_many

_HELP = """\
examples:
  cbn export runs/quickstart-emu-20260101T120000Z-1a2b --pcapng all.pcapng
      every captured packet of the run in one file, in order of time
  wireshark -X lua_script:nodes/wire/cbn.lua all.pcapng
      a column for the interface: add frame.interface_name

Each captured interface is an interface of the file, under its name.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a run directory")
    parser.add_argument("--pcapng", type=Path, metavar="FILE", required=True, help="the file to write")
    parser.add_argument("--force", action="store_true", help="replace FILE")
    add_json(parser)


def _export(args: argparse.Namespace) -> int:
    """Write the file, whole or not at all."""
    from fastpath.pcap import PcapError, merge_captures
    from testbed.runs.whole_files import written_whole

    if args.pcapng.exists() and not args.force:
        raise exits.CommandError(
            f"{args.pcapng} is there already; name another file, or replace it with --force"
        )
    captures = _captures(args.directory)
    try:
        with written_whole(args.pcapng) as unfinished:
            written = merge_captures(captures, unfinished)
    except PcapError as error:
        raise exits.CommandError(str(error)) from error
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error
    _report(args, len(captures), written)
    return exits.OK


def _report(args: argparse.Namespace, interfaces: int, written: dict[str, int]) -> None:
    if args.json:
        print(json.dumps({"file": str(args.pcapng), "interfaces": interfaces, **written}))
        return
    print(f"{args.pcapng}: {how_many(written['packets'], 'packet')} of {how_many(interfaces, 'interface')}")
    if written["truncated"]:
        print(f"{written['truncated']:,} captures are cut off; what is whole of them is there")


def _captures(directory: Path) -> list[tuple[str, list[Path]]]:
    """Name and files of every captured interface, as the run's index has them."""
    index = directory / "captures" / "index.json"
    try:
        rows: list[dict[str, Any]] = json.loads(index.read_text(encoding="utf-8"))["interfaces"]
        kept = [row for row in rows if not row.get("decoded")]
        if rows and not kept:
            raise exits.CommandError(
                f"{directory}: machines of a cluster have made tables of its captures; "
                "`cbn run --captures home` brings captures home as they are"
            )
        return [
            (_named(row), [index.parent / str(name) for name in row.get("files") or [row["file"]]])
            for row in kept
        ]
    except OSError as error:
        raise exits.CommandError(
            f"{index}: {error.strerror}; name the directory of a run that recorded captures"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise exits.CommandError(f"{index}: not an index of captures ({error!r})") from error


def _named(row: Mapping[str, Any]) -> str:
    """What Wireshark calls an interface: its own name, with its node's, and the node at the other end."""
    peer = f" (to {row['peer']})" if row.get("peer") else ""
    return f"{row['interface']}{peer}"


COMMAND = Command("put all captures of a run into one file", _arguments, _export, RUNS, _HELP)

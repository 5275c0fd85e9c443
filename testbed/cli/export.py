"""`cbn export`: all captures of a run in one pcapng file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from fastpath.pcap import PcapError, merge_captures
from testbed.cli import exits


def export(args: argparse.Namespace) -> int:
    """Write the file, whole or not at all."""
    if args.pcapng.exists() and not args.force:
        raise exits.CommandError(
            f"{args.pcapng} is there already; name another file, or replace it with --force"
        )
    captures = _captures(args.directory)
    partial = args.pcapng.with_name(args.pcapng.name + ".partial")
    try:
        told = merge_captures(captures, partial)
        partial.replace(args.pcapng)
    except PcapError as error:
        raise exits.CommandError(str(error)) from error
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error
    finally:
        partial.unlink(missing_ok=True)
    _report(args, len(captures), told)
    return exits.OK


def _report(args: argparse.Namespace, interfaces: int, told: dict[str, int]) -> None:
    if args.json:
        print(json.dumps({"file": str(args.pcapng), "interfaces": interfaces, **told}))
        return
    print(f"{args.pcapng}: {told['packets']:,} packets of {interfaces:,} interfaces")
    if told["truncated"]:
        print(f"{told['truncated']:,} captures are cut off; what is whole of them is there")


def _captures(directory: Path) -> list[tuple[str, list[Path]]]:
    """Name and files of every captured interface, as the run's index has them."""
    index = directory / "captures" / "index.json"
    try:
        rows: list[dict[str, Any]] = json.loads(index.read_text(encoding="utf-8"))["interfaces"]
        return [(_name(row), [index.parent / name for name in _files(row)]) for row in rows]
    except OSError as error:
        raise exits.CommandError(
            f"{index}: {error.strerror}; name the directory of a run that recorded captures"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise exits.CommandError(f"{index}: not an index of captures ({error!r})") from error


def _name(row: dict[str, Any]) -> str:
    return str(row["interface"])


def _files(row: dict[str, Any]) -> list[str]:
    return [str(name) for name in row.get("files") or [row["file"]]]

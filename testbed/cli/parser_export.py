"""The words of `cbn export`. Imports no command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_EXPORT = """\
examples:
  cbn export runs/quickstart-emu-20260101T120000Z-1a2b --pcapng all.pcapng
      every captured packet of the run in one file, in order of time
  wireshark -X lua_script:nodes/wire/cbn.lua all.pcapng
      a column for the interface: add frame.interface_name

Each captured interface is an interface of the file, under its name.
"""


def add_export(commands: Any, command: Callable[..., Any], json: Callable[..., Any]) -> None:
    """`cbn export`; `command` makes a subcommand, `json` gives it --json."""
    made = command(commands, "export", "put all captures of a run into one file", _EXPORT)
    made.add_argument("directory", type=Path, metavar="DIR", help="a run directory")
    made.add_argument("--pcapng", type=Path, metavar="FILE", required=True, help="the file to write")
    made.add_argument("--force", action="store_true", help="replace FILE")
    json(made)

"""What runs on this machine, as any process may find it out: the registry's records and `/proc`.

Not here: registering (`registry`), and removing what is dead (`cleanup`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.emu.cleanup import environment_of
from testbed.emu.registry import RUN_FILE, RUN_MARK, Owner, registry_root

CONTROL_SOCKET = "ctl.sock"


@dataclass(frozen=True, slots=True)
class Running:
    """A registered run."""

    folder: Path
    owner: Owner | None
    """None: its record cannot be read."""
    record: Mapping[str, Any]

    @property
    def run_id(self) -> str:
        """Its id."""
        return self.folder.name

    @property
    def name(self) -> str:
        """What people call it: given with `--name`, else its scenario's."""
        return str(self.record.get("name") or self.record.get("scenario") or "?")

    @property
    def alive(self) -> bool:
        """Whether its owner still runs."""
        return self.owner is not None and self.owner.alive()

    @property
    def kept(self) -> bool:
        """Whether it is a network that was left running, to be worked with by hand."""
        return self.record.get("kind") == "network"

    @property
    def state(self) -> str:
        """`starting`, `running`, `stopping`; `dead` if its owner is."""
        return str(self.record.get("state", "running")) if self.alive else "dead"

    @property
    def control(self) -> Path:
        """Its control socket."""
        return self.folder / CONTROL_SOCKET


def running(root: Path | None = None) -> list[Running]:
    """All registered runs, dead ones too, ordered by id."""
    root = root or registry_root()
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return [_read(folder) for folder in folders if folder.is_dir() and not folder.name.startswith(".")]


def matching(runs: Sequence[Running], name: str) -> list[Running]:
    """The runs that somebody may mean: of that id or name, else those whose id begins so."""
    exact = [run for run in runs if name in (run.run_id, run.name)]
    return exact or [run for run in runs if run.run_id.startswith(name)]


def memory_bytes() -> dict[str, int]:
    """What the processes of each run take for themselves alone, by run id; owners are not counted."""
    found: dict[str, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (run := environment_of(int(entry.name)).get(RUN_MARK)):
            found[run] = found.get(run, 0) + unique_bytes(int(entry.name))
    return found


def unique_bytes(pid: int) -> int:
    """Memory that would be free if the process ended; 0 if it has."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    rows = (line.split() for line in text.splitlines() if line.startswith("Private_"))
    return sum(int(row[1]) for row in rows) * 1024


def _read(folder: Path) -> Running:
    try:
        record = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        return Running(folder, Owner.parse(str(record["owner"])), record)
    except (OSError, ValueError, KeyError, TypeError):
        return Running(folder, None, {})

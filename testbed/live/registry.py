"""Marks what a run makes, so that it can be found again and is not mistaken for anything else; and finds it.

A live run has a folder under `/run/cbn-testbed/` with `run.json` and the admin
sockets of its nodes, and each of its processes carries two environment
variables: the run's id, and the process that owns the run with the time it
started (a process id alone may be used again by a stranger).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.daemon.json_lines import LONGEST_SOCKET_PATH
from nodes.processes import OWNER_MARK, RUN_MARK, Owner, environment_of
from testbed.runs.whole_files import write_whole

RUN_FILE = "run.json"
CONTROL_SOCKET = "ctl.sock"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RegistryError(RuntimeError):
    """A run cannot be registered; the text says why."""


def registry_root() -> Path:
    """Where live runs are registered."""
    if os.geteuid() == 0:
        return Path("/run/cbn-testbed")
    own = os.environ.get("XDG_RUNTIME_DIR")
    return Path(own) / "cbn-testbed" if own else Path(f"/tmp/cbn-testbed-{os.geteuid()}")


@dataclass(frozen=True, slots=True)
class Registration:
    """A live run's folder and marks."""

    folder: Path
    run_id: str
    owner: Owner

    def socket(self, node_id: int) -> Path:
        """The admin socket of a node."""
        return self.folder / f"{node_id}.sock"

    def environment(self) -> dict[str, str]:
        """This process's environment with the run's marks."""
        return {**os.environ, **self.marks()}

    def marks(self) -> dict[str, str]:
        """The run's marks alone."""
        return {RUN_MARK: self.run_id, OWNER_MARK: str(self.owner)}

    def note(self, **facts: object) -> None:
        """Let others know these facts of the run too; what was known under the same name is replaced."""
        path = self.folder / RUN_FILE
        record = json.loads(path.read_text(encoding="utf-8"))
        write_whole(path, json.dumps({**record, **facts}) + "\n")

    def remove(self) -> None:
        """The run has ended: forget it, at once, so that nobody takes half of it for what a dead run left."""
        leaving = _hidden(self.folder, self.owner)
        try:
            self.folder.rename(leaving)
        except FileNotFoundError:  # somebody has removed it by hand
            return
        shutil.rmtree(leaving)


def register(run_id: str, directory: Path, root: Path | None = None) -> Registration:
    """Make a run known before it makes anything else.

    Raises:
        RegistryError: the id cannot be a folder's name, or a run of that id is registered.
    """
    root = root or registry_root()
    owner = Owner.this_process()
    registration = Registration(root / run_id, run_id, owner)
    _check(registration)
    partial = _hidden(registration.folder, owner)
    partial.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = {"run_id": run_id, "owner": str(owner), "directory": str(directory.resolve())}
    (partial / RUN_FILE).write_text(json.dumps(record) + "\n", encoding="utf-8")
    try:
        partial.rename(registration.folder)
    except OSError as error:
        shutil.rmtree(partial)
        raise RegistryError(
            f"a run {run_id!r} is registered already, in {registration.folder}; "
            "if it is not running, `cbn clean` removes it"
        ) from error
    return registration


def _hidden(folder: Path, owner: Owner) -> Path:
    """What a folder is called while it is made and removed: no run, and left alone while its owner lives."""
    return folder.with_name(f".{folder.name}.{owner.pid}")


@dataclass(frozen=True, slots=True)
class Running:
    """A registered run, as any process may find it out."""

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
        """Whether it is a network that was left running, for people to work with."""
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


def _check(registration: Registration) -> None:
    if not _RUN_ID.fullmatch(registration.run_id):
        raise RegistryError(
            f"run id {registration.run_id!r}: expected letters, digits, '.', '_' and '-' alone"
        )
    longest = registration.socket(999_999)
    if len(os.fsencode(longest)) > LONGEST_SOCKET_PATH:
        raise RegistryError(f"run id {registration.run_id!r} is too long: {longest} exceeds a socket's path")

"""Makes and fills a run directory: the layout of `docs/run-directory.md` and nothing else."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from testbed.plan.recorded import MANIFEST, PLAN, REPORT, VERDICTS
from testbed.runs.lock import LOCK, refuse_if_held
from testbed.runs.whole_files import write_whole

PARTS = (
    MANIFEST,
    PLAN,
    "plan.yaml",  # of runs of format 1
    "scenario.yaml",
    "events.jsonl",
    *VERDICTS,
    REPORT,
    "captures",
    "config",
    "logs",
    "machines",
    "tables",
    LOCK,
)
"""What a run and its analysis write; `--force` removes these and nothing else."""

RESULTS = ("events.jsonl", "captures", "config", "logs", "machines")
"""Those of them that a world writes."""


class RunDirectoryError(Exception):
    """The run directory cannot be had; the text says why and what to do."""


def new_run_id(scenario: str, world: str) -> str:
    """A name no other run has: `<scenario>-<world>-<UTC time stamp>-<4 hex>`."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{scenario}-{world}-{stamp}-{secrets.token_hex(2)}"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The paths of one run. The directory exists; its parts are made on demand."""

    path: Path
    run_id: str
    apart: bool = False
    """Whether only its maker knows the place, and moves it to its own when the run has ended. Then it needs
    no lock, and no manifest before the run. Each would be a file that is soon removed; on ext4, the more
    files were removed in the last minutes, the longer it takes to make one."""

    @classmethod
    def create(cls, path: Path, run_id: str, *, force: bool = False) -> RunDirectory:
        """Make an empty run directory at `path`.

        Args:
            path: where; parents are made as needed. An empty directory is taken as it is.
            run_id: of the new run.
            force: let a previous run at `path` go. Only what a run writes is
                removed, only if a manifest shows that a run is what it is, and
                only if no process is at work there.

        Raises:
            RunDirectoryError: the place is taken, or cannot be written to.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            _vacate(path, force)
            _check_writable(path)
        except OSError as error:
            raise RunDirectoryError(_explain(path, error)) from error
        return cls(path, run_id)

    @classmethod
    def create_apart(cls, path: Path, run_id: str) -> RunDirectory:
        """Make the directory of a run at a place that nobody else knows.

        Raises:
            RunDirectoryError: nothing can be written there.
        """
        try:
            path.mkdir()
        except OSError as error:
            raise RunDirectoryError(_explain(path, error)) from error
        return cls(path, run_id, apart=True)

    def events_of(self, client: str) -> Path:
        """Where a client writes its events, and "" the run; merged into the run's and removed at its end."""
        return self.logs.resolve() / f"{client}.events.jsonl"

    @property
    def captures(self) -> Path:
        """Where the pcaps go."""
        return self._folder("captures")

    @property
    def logs(self) -> Path:
        """Where the nodes' logs go."""
        return self._folder("logs")

    @property
    def config(self) -> Path:
        """Where the configuration of each process is kept."""
        return self._folder("config")

    @property
    def events(self) -> Path:
        """The path of the merged events."""
        return self.path / "events.jsonl"

    def write_text(self, name: str, text: str) -> None:
        """Write one document, whole or not at all."""
        write_whole(self.path / name, text)

    def write_json(self, name: str, value: object) -> None:
        """Write one JSON document, whole or not at all."""
        self.write_text(name, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def forget_results(self) -> None:
        """Remove what the world has written, so that it can be done again; what was asked for stays."""
        for name in RESULTS:
            _remove(self.path / name)

    def _folder(self, name: str) -> Path:
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        return folder


def is_run_directory(path: Path) -> bool:
    """Whether a run has been here: there is a manifest with a run's id in it."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and "run_id" in manifest and "format" in manifest


def _is_corrupt(manifest: Path) -> bool:
    try:
        json.loads(manifest.read_text(encoding="utf-8"))
    except OSError:
        return False
    except ValueError:
        return True
    return False


def _vacate(path: Path, force: bool) -> None:
    refuse_if_held(path)
    if all(entry.name == LOCK for entry in path.iterdir()):
        return
    if not is_run_directory(path):
        why = f"its {MANIFEST} is corrupt" if _is_corrupt(path / MANIFEST) else "holds no run"
        raise RunDirectoryError(
            f"{path} is not empty and {why}: nothing in it was touched; name another directory with --out"
        )
    if not force:
        raise RunDirectoryError(
            f"{path} already holds a run; name another directory with --out, or replace that run with --force"
        )
    for name in reversed(PARTS):  # the manifest last: until then the directory is known for a run's
        _remove(path / name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _check_writable(path: Path) -> None:
    """Find out now, not after the run, that nothing can be written here."""
    probe = path / ".probe"
    probe.write_bytes(os.urandom(4096))
    probe.unlink()


def _explain(path: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    place = f" ({error.filename})" if error.filename and str(error.filename) != str(path) else ""
    return f"cannot write a run into {path}: {reason}{place}; name another directory with --out"

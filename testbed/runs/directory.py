"""Writes a run directory: the layout of `docs/run-directory.md` and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The paths of one run. The directory exists; its parts are made on demand."""

    path: Path
    run_id: str

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
        """Where what each process was told is kept."""
        return self._folder("config")

    def write_json(self, name: str, value: object) -> None:
        """Write one JSON document, whole or not at all."""
        target = self.path / name
        partial = target.with_name(target.name + ".partial")
        partial.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(target)

    def write_events(self, events: Iterable[Mapping[str, object]]) -> None:
        """Write `events.jsonl`, ordered by time, node and the node's own counter."""
        ordered = sorted(events, key=lambda e: (e["time_ns"], e["node"], e["n"]))
        with (self.path / "events.jsonl").open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(e, ensure_ascii=False, separators=(",", ":")) + "\n" for e in ordered)

    def _folder(self, name: str) -> Path:
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        return folder

"""What a run directory keeps of its plan: `plan.json`, and the digest of it in `manifest.json`.

Here: writing a plan and reading it back, for everybody who reads run directories (`cbn replay`,
`cbn topo`, the analysis); nothing of the loader is imported for that. A recorded plan is not
for editing (docs/decisions/0020): people edit the scenario. So the digest alone says whether
the file is what the run was made of, and what follows from a plan being sound need not be
checked a second time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.records import from_plain, to_plain
from testbed.plan.model import Plan

MANIFEST, PLAN = "manifest.json", "plan.json"
VERDICT, JUDGED = "verdict.json", "judged.json"
"""Of the analysis, and of the judge at the end of `cbn run`."""
VERDICTS = (VERDICT, JUDGED)
"""The one to go by first."""
REPORT = "report.html"
FORMAT = 3
"""Of the run directory: what `format` in the manifest says."""
BYTES_MAX = 1 << 30
"""Plans hold every single action: they are large, but no larger than this."""

NO_WORK = ("name", "description", "expect", "scenario_path", "scenario_sha256", "overrides")
"""Keys of a plan that change nothing of what a run of it does."""

_TYPES = {"run_id": str, "world": str, "outcome": str, "start_ns": int, "end_ns": int, "dilate": int}
"""Of what readers of a manifest rely on."""
_NAMED = {str: "a string", int: "an integer"}
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A machine was asked for its time: the answer, between two times of whoever asked."""

    asked_ns: int
    said_ns: int
    answered_ns: int

    @property
    def uncertainty_ns(self) -> int:
        """Half of the way there and back."""
        return (self.answered_ns - self.asked_ns) // 2

    @property
    def ahead_ns(self) -> int:
        """How much the machine's clock is ahead, give or take the uncertainty."""
        return self.said_ns - self.asked_ns - self.uncertainty_ns


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """One of several machines on which a run took place."""

    nodes: tuple[str, ...]
    """What ran there: nodes of one machine have one clock."""
    clock: tuple[ClockReading, ...]
    """By the controller, before and after the workload."""


class RecordedRunError(Exception):
    """A directory holds no run that this version can read; the text says where, why and what to do."""


def plan_to_json(plan: Plan) -> str:
    """The text of `plan.json`: a line for each key, and for each entry of a list."""
    return plan_text(plan_entries(plan))


def plan_entries(plan: Plan) -> dict[str, str]:
    """The text of each key of `plan.json`."""
    return {key: f"{json.dumps(key)}: {_lines(value)}" for key, value in to_plain(plan).items()}


def plan_text(entries: Mapping[str, str]) -> str:
    """The text of `plan.json`, of its keys."""
    return "{" + ",\n ".join(entries.values()) + "}\n"


def work_digest(entries: Mapping[str, str]) -> str:
    """What identifies the work of a run: equal for plans of which every world makes the same run.

    Args:
        entries: Of a plan, as `plan_entries` makes them.
    """
    return plan_digest(plan_text({key: text for key, text in entries.items() if key not in NO_WORK}))


def _lines(value: Any) -> str:
    if isinstance(value, list) and len(value) > 1:
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "]"
    return json.dumps(value)


def plan_from_json(text: str | bytes) -> Plan:
    """The plan of a text that `plan_to_json` wrote.

    Raises:
        ValueError: The text is not a plan of this version.
    """
    try:
        return from_plain(Plan, json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a plan of this version ({error})") from None


def plan_digest(text: str | bytes) -> str:
    """What a manifest has as `plan_sha256` when this is the text of the run's `plan.json`."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a run that was recorded in the format of this version.

    Raises:
        RecordedRunError: There is none, or it is damaged, or of another format.
    """
    path = directory / MANIFEST
    if not directory.is_dir():
        raise RecordedRunError(f"{directory}: no such directory; name one that `cbn run` has written")
    if not path.exists():
        raise RecordedRunError(
            f"{directory}: not a run directory (it has no {MANIFEST}); `cbn run` makes one"
        )
    manifest = read_json(path)
    if manifest.get("format") != FORMAT:
        raise RecordedRunError(
            f"{path}: format is {manifest.get('format')!r}; this version reads format {FORMAT};"
            " run its scenario.yaml again"
        )
    for key, kind in _TYPES.items():
        if type(manifest.get(key)) is not kind:
            raise RecordedRunError(
                f"{path}: corrupt: {key} must be {_NAMED[kind]}, not {manifest.get(key)!r}"
            )
    return manifest


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        RecordedRunError: There is no such file, or it holds something else.
    """
    try:
        value = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise RecordedRunError(f"{path}: corrupt: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RecordedRunError(f"{path}: corrupt: expected a JSON object, found {type(value).__name__}")
    return value


def read_plan(directory: Path, manifest: Mapping[str, Any]) -> Plan:
    """The plan of a run, exactly as it was recorded.

    Args:
        directory: Of the run.
        manifest: The same directory's.

    Raises:
        RecordedRunError: There is none, or it is not what was recorded.
    """
    path = directory / PLAN
    data = _read(path)
    if plan_digest(data) != manifest.get("plan_sha256"):
        raise RecordedRunError(
            f"{path}: it was changed or damaged since the run: its SHA-256 is not the plan_sha256 of"
            f" {MANIFEST}; to change a run, change its scenario (scenario.yaml, or --set) and run that"
        )
    try:
        plan = plan_from_json(data)
    except ValueError as error:
        raise RecordedRunError(f"{path}: {error}; run its scenario.yaml again") from None
    for name in _file_names(plan):
        if not _FILE_NAME.fullmatch(name):
            raise RecordedRunError(
                f"{path}: {name!r} cannot be part of a file's name; `cbn run` records none such"
            )
    return plan


def _file_names(plan: Plan) -> Iterator[str]:
    """What becomes part of the names of files: a run directory of a stranger must not name others."""
    yield from (plan.name, plan.record.format)
    for node in plan.nodes:
        yield from (node.name, *(interface.name for interface in node.interfaces))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise RecordedRunError(f"{path}: {error.strerror}; a run directory needs it") from None
    if len(data) > BYTES_MAX:
        raise RecordedRunError(f"{path}: it has more than {BYTES_MAX >> 20} MiB; no run writes such a file")
    return data

"""What a folder of runs holds already, compared with the runs that are to be in it.

A run is identified by what it does (`work_sha256` in its manifest), not by the name of its folder or by the
text of its scenario. Here: finding that out. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from testbed.plan.model import Plan
from testbed.plan.recorded import (
    RecordedRunError,
    plan_digest,
    plan_entries,
    plan_text,
    read_manifest,
    read_plan,
    work_digest,
)

State = Literal["absent", "unfinished", "complete", "another", "unreadable"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is of one run."""

    state: State
    """`unfinished`: of this run, and to be done again; `another`: another run stands in its place;
    `unreadable`: what stands there is corrupt, or no run."""
    directory: Path
    """Where it is, or is to be."""
    about: str = ""
    """What stands there, if that is more than the beginning of this very run."""
    judged: bool = True
    """Of `complete`: whether its record expects what is expected now."""


class Folder:
    """The runs in a folder, by what they do.

    Args:
        path: Of the folder.
        names: Of all cells that have a place in it.
    """

    def __init__(self, path: Path, names: Iterable[str]) -> None:
        self._path = path
        self._manifests = dict(_manifests(path))
        taken = set(names)
        self._works = {name: _work(path / name, found) for name, found in self._manifests.items()}
        self._elsewhere = {
            work: path / name
            for name, work in self._works.items()
            if name not in taken and self._manifests[name]["outcome"] == "complete"
        }

    def standing(self, name: str, plan: Plan) -> Standing:
        """What there is of the run `name`, which is to carry out `plan`."""
        entries, place = plan_entries(plan), self._path / name
        work, found = work_digest(entries), self._manifests.get(name)
        same = self._works.get(name) == work
        if found is not None and same and found["outcome"] == "complete":
            return _complete(place, found, plan, entries)
        if work in self._elsewhere:
            other = self._elsewhere[work]
            return _complete(other, self._manifests[other.name], plan, entries)
        if found is not None:
            return (
                Standing("unfinished", place)
                if same
                else Standing("another", place, _difference(found, plan))
            )
        if place.exists() and any(place.iterdir()):
            return Standing("unreadable", place, "corrupt, or no run at all; move it away")
        return Standing("absent", place)


def _manifests(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    for directory in sorted(path.iterdir()) if path.is_dir() else ():
        try:
            yield directory.name, read_manifest(directory)
        except RecordedRunError:
            continue  # no run, or none that can be read: `standing` says so where it matters


def _work(place: Path, manifest: Mapping[str, Any]) -> str:
    """The digest of what a run does; from its plan where the manifest was written without it."""
    if "work_sha256" in manifest:
        return str(manifest["work_sha256"])
    try:
        return work_digest(plan_entries(read_plan(place, manifest)))
    except RecordedRunError:
        return ""


def _complete(place: Path, manifest: Mapping[str, Any], plan: Plan, entries: Mapping[str, str]) -> Standing:
    judged = _expects_the_same(place, manifest, plan, entries)
    return Standing("complete", place, "complete", judged)


def _expects_the_same(
    place: Path, manifest: Mapping[str, Any], plan: Plan, entries: Mapping[str, str]
) -> bool:
    if manifest.get("plan_sha256") == plan_digest(plan_text(entries)):
        return True
    try:
        return read_plan(place, manifest).expect == plan.expect
    except RecordedRunError:
        return False


def _difference(manifest: Mapping[str, Any], plan: Plan) -> str:
    """What a person would call the difference between a run and what is to be run."""
    before, now = manifest.get("overrides") or {}, plan.overrides
    words = [
        f"{key} {before.get(key, 'not set')} there, {now.get(key, 'not set')} now"
        for key in dict.fromkeys((*before, *now))
        if before.get(key) != now.get(key)
    ]
    if manifest.get("seed") != plan.seed and "seed" not in {*before, *now}:
        words.insert(0, f"seed {manifest.get('seed')} there, {plan.seed} now")
    return f"{manifest['outcome']}; {', '.join(words) or 'the scenario was another'}"

"""Which runs are compared with each other, and where the page about it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from analysis import AnalysisError
from analysis.groups.comparing import Compared, compare
from analysis.groups.model import SEED, Member, member, told_apart
from testbed.cli import exits
from testbed.cli.folder import MATRIX, known_cells, read_note
from testbed.plan.recorded import RecordedRunError, read_manifest
from testbed.runs.whole_files import write_whole

PAGE = "compare.html"


@dataclass(slots=True)
class Found:
    """The runs in some folders."""

    titles: list[str] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Runs of a matrix without a verdict, and why they have none."""
    against: dict[str, str] = field(default_factory=dict)
    """The values of the first run, if it was named by itself: others are compared with it."""

    @property
    def title(self) -> str:
        """What they are called together."""
        return ", ".join(dict.fromkeys(self.titles))


def runs_in(directories: Sequence[Path]) -> Found:
    """The runs in some folders, of a matrix each, or of a single run.

    Raises:
        CommandError: There is none that has a verdict.
    """
    found = Found()
    for directory in directories:
        if (directory / MATRIX).is_file():
            _of_matrix(directory, {"folder": directory.name} if len(directories) > 1 else {}, found)
        else:
            _single(directory, found)
    if not all((directory / MATRIX).is_file() for directory in directories):
        found.members = told_apart(found.members)
        found.against = {n: str(value) for n, value in found.members[0].values.items() if n != SEED}
    if not found.members:
        raise exits.CommandError(
            next(iter(found.left_out), f"{directories[0]}: no runs of a matrix are noted there")
        )
    return found


def _of_matrix(folder: Path, apart: Mapping[str, Any], found: Found) -> None:
    found.titles.append(str(read_note(folder)["name"]))
    cells = known_cells(folder)
    found.descriptions += [text for cell in list(cells)[:1] if (text := _description(folder / cell))]
    for cell, values in cells.items():
        try:
            found.members.append(member(folder / cell, {**apart, **values}))
        except AnalysisError as error:
            found.left_out.append(str(error))


def _description(run: Path) -> str:
    """Of the scenario that was run."""
    try:
        return str(read_manifest(run).get("description", ""))
    except RecordedRunError:
        return ""


def _single(directory: Path, found: Found) -> None:
    """A run of no matrix is told apart by what it ran, and where."""
    with exits.explained(RecordedRunError, AnalysisError):
        manifest = read_manifest(directory)
        values = {name: manifest[name] for name in ("scenario", "scheme", "world") if manifest.get(name)}
        values |= manifest.get("overrides") or {}
        found.members.append(member(directory, {**values, SEED: manifest.get("seed")}))
    found.titles.append(str(manifest.get("scenario") or directory.name))


def compared(found: Found, against: Mapping[str, str] | None = None) -> Compared:
    """The comparison of the runs.

    Raises:
        CommandError: No runs have the values that others are to be compared with.
    """
    description = " ".join(dict.fromkeys(found.descriptions))
    with exits.explained(AnalysisError):
        return compare(found.title, found.members, against or found.against, found.left_out, description)


def page_of(directories: Sequence[Path], out: Path | None) -> Path:
    """Where the page goes: into the folder of the matrix, if there is one."""
    if out is not None:
        return out
    return (
        directories[0] / PAGE if len(directories) == 1 and (directories[0] / MATRIX).is_file() else Path(PAGE)
    )


def compare_matrix(folder: Path) -> Path | None:
    """Write the page over the runs of a matrix that have a verdict.

    Returns:
        Where it is; None: they are one group, or Jinja, which draws pages, is not installed.
    """
    if find_spec("jinja2") is None:
        return None
    found = Found()
    _of_matrix(folder, {}, found)
    comparison = compared(found) if found.members else None
    if comparison is None or len(comparison.groups) < 2:
        return None
    write_page(folder / PAGE, comparison)
    return folder / PAGE


def write_page(path: Path, comparison: Compared) -> None:
    """Write it whole, or leave what was there.

    Raises:
        CommandError: It cannot be written.
    """
    from analysis.groups.page import to_page

    try:
        write_whole(path, to_page(comparison, path.parent))
    except OSError as error:
        raise exits.CommandError(f"{path}: {error.strerror}", exits.FAILED) from error

"""`cbn clean`: what dead runs left goes, everything else stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodes.processes import OWNER_MARK, RUN_MARK, Owner, started_ticks
from testbed.emu.cleanup import clean
from testbed.live.registry import RegistryError, Running, register, running

pytestmark = pytest.mark.usefixtures("sole_cleaner")
FOREVER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@contextmanager
def bystander(**marks: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until it is killed, or its input ends."""
    process = subprocess.Popen(FOREVER, stdin=subprocess.PIPE, env={**os.environ, **marks})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def dead_owner() -> Owner:
    process = subprocess.Popen(FOREVER, stdin=subprocess.PIPE)
    ticks = started_ticks(process.pid)
    assert ticks is not None
    process.communicate()
    return Owner(process.pid, ticks)


def test_a_process_of_a_dead_run_is_killed(tmp_path: Path) -> None:
    with bystander(**{RUN_MARK: "gone", OWNER_MARK: str(dead_owner())}) as left:
        report = clean(root=tmp_path)
        assert [(p.pid, p.run_id) for p in report.processes if p.pid == left.pid] == [(left.pid, "gone")]
        assert left.wait(10) == -9
    assert not report.survivors


def test_a_dry_run_names_it_and_lets_it_live(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    (folder / "run.json").write_text(f'{{"owner": "{dead_owner()}"}}')
    with bystander(**{RUN_MARK: "gone", OWNER_MARK: str(dead_owner())}) as left:
        report = clean(dry_run=True, root=tmp_path)
        assert left.pid in [p.pid for p in report.processes]
        assert report.folders == (folder,)
        assert left.poll() is None
        assert folder.exists()
        assert clean(root=tmp_path).folders == (folder,)
        assert not folder.exists()


def test_a_process_of_a_living_run_stays(tmp_path: Path) -> None:
    with bystander(**{RUN_MARK: "alive", OWNER_MARK: str(Owner.this_process())}) as busy:
        assert busy.pid not in [p.pid for p in clean(root=tmp_path).processes]
        assert busy.poll() is None


def test_a_process_of_a_run_in_a_container_stays(tmp_path: Path) -> None:
    """Its owner's id is one of the container: on this machine there may be no such process."""
    marks = {RUN_MARK: "there", OWNER_MARK: str(dead_owner())}
    command = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "sleep 60 & echo begun; wait"]
    with subprocess.Popen(
        ["env", *(f"{k}={v}" for k, v in marks.items()), *command], stdout=subprocess.PIPE
    ) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == b"begun\n"
        inside = descendants(outer.pid)
        found = [p.pid for p in clean(dry_run=True, root=tmp_path).processes]
        assert outer.pid in found, "this one is here"
        assert len(inside) == 2
        assert not {*inside} & {*found}
        outer.kill()


def descendants(pid: int) -> list[int]:
    """The children of a process, theirs, and so on."""
    own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*own, *(each for child in own for each in descendants(child))]


@pytest.mark.parametrize(
    "marks", [{}, {RUN_MARK: "x"}, {RUN_MARK: "x", OWNER_MARK: "nonsense"}, {OWNER_MARK: "2:1"}], ids=str
)
def test_a_process_without_both_marks_stays(tmp_path: Path, marks: dict[str, str]) -> None:
    with bystander(**marks) as stranger:
        assert stranger.pid not in [p.pid for p in clean(root=tmp_path).processes]
        assert stranger.poll() is None


def test_a_living_runs_folder_stays_and_is_named(tmp_path: Path) -> None:
    registration = register("busy", tmp_path, tmp_path / "root")
    report = clean(root=tmp_path / "root")
    assert report.live_runs == ("busy",)
    assert report.folders == ()
    assert registration.folder.exists()
    registration.remove()
    assert running(tmp_path / "root") == []


def test_an_owner_is_not_mistaken_for_a_later_process_with_its_id() -> None:
    here = Owner.this_process()
    assert here.alive()
    assert not Owner(here.pid, here.started_ticks - 1).alive()


def test_a_folder_without_a_readable_record_counts_as_left_behind(tmp_path: Path) -> None:
    for name, text in (("a", None), ("b", "{"), ("c", '{"owner": 3}'), ("d", "[]")):
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "run.json").write_text(text)
    assert [folder.name for folder in clean(root=tmp_path).folders] == ["a", "b", "c", "d"]


def test_a_registration_in_the_making_stays(tmp_path: Path) -> None:
    (tmp_path / f".half.{os.getpid()}").mkdir()
    (tmp_path / f".dead.{dead_owner().pid}").mkdir()
    assert [folder.name.split(".")[1] for folder in clean(root=tmp_path).folders] == ["dead"]


def test_a_run_that_begins_while_another_cleans_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def then_one_begins(root: Path) -> list[Running]:
        found = running(root)
        register("late", tmp_path, root)
        return found

    monkeypatch.setattr("testbed.emu.cleanup.running", then_one_begins)
    assert clean(root=tmp_path / "root").folders == ()
    assert [run.run_id for run in running(tmp_path / "root")] == ["late"]


def test_a_run_that_ends_while_another_cleans_is_not_disturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    registration = register("ending", tmp_path, root)
    (registration.folder / "1.sock").touch()

    def while_another_cleans(folder: Path) -> None:
        monkeypatch.undo()
        (folder / "run.json").unlink()
        assert clean(root=root).folders == ()
        assert (folder / "1.sock").exists()
        shutil.rmtree(folder)

    monkeypatch.setattr("testbed.live.registry.shutil.rmtree", while_another_cleans)
    registration.remove()
    assert list(root.iterdir()) == []


def test_a_run_whose_folder_was_removed_by_hand_ends_as_others_do(tmp_path: Path) -> None:
    registration = register("gone", tmp_path, tmp_path / "root")
    shutil.rmtree(registration.folder)
    registration.remove()
    assert list((tmp_path / "root").iterdir()) == []


def test_files_that_are_no_registration_stay(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    clean(root=tmp_path)
    assert (tmp_path / "note.txt").exists()


def test_cleaning_where_nothing_ever_ran_finds_nothing(tmp_path: Path) -> None:
    assert clean(root=tmp_path / "none").folders == ()


def test_two_runs_cannot_have_one_id(tmp_path: Path) -> None:
    register("one", tmp_path, tmp_path / "root")
    with pytest.raises(RegistryError, match=r"'one' is registered already.*cbn clean"):
        register("one", tmp_path, tmp_path / "root")
    assert [run.run_id for run in running(tmp_path / "root")] == ["one"]


@pytest.mark.parametrize("run_id", ["", "..", "a/b", ".hidden", "a b", "x" * 200])
def test_a_run_id_that_cannot_name_a_folder_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(RegistryError, match="run id"):
        register(run_id, tmp_path, tmp_path / "root")
    assert not (tmp_path / "root").exists()

"""Run directories: made, refused, replaced."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed.runs.directory import PARTS, RunDirectory, RunDirectoryError, is_run_directory, new_run_id


def previous_run(path: Path) -> None:
    """What an analysed run leaves, in outline."""
    for part in PARTS:
        if "." in part:
            (path / part).write_text("{}")
        else:
            (path / part).mkdir()
            (path / part / "something").write_text("old")
    (path / "manifest.json").write_text(json.dumps({"format": 1, "run_id": "old"}))


def test_a_run_id_says_what_ran_where_and_when_and_is_new_each_time() -> None:
    ids = {new_run_id("quickstart", "sim") for _ in range(20)}
    assert len(ids) > 15
    assert all(re.fullmatch(r"quickstart-sim-\d{8}T\d{6}Z-[0-9a-f]{4}", i) for i in ids)


def test_parents_are_made_and_an_empty_directory_is_taken(tmp_path: Path) -> None:
    assert RunDirectory.create(tmp_path / "a" / "b", "x").path.is_dir()
    assert list(RunDirectory.create(tmp_path / "a" / "b", "x").path.iterdir()) == []


def test_force_removes_what_a_run_writes_and_nothing_else(tmp_path: Path) -> None:
    previous_run(tmp_path)
    (tmp_path / "thesis.tex").write_text("mine")
    RunDirectory.create(tmp_path, "new", force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_force_does_not_follow_links_out_of_the_directory(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("mine")
    (run / "manifest.json").write_text(json.dumps({"format": 1, "run_id": "old"}))
    (run / "captures").symlink_to(elsewhere)
    RunDirectory.create(run, "new", force=True)
    assert (elsewhere / "precious").read_text() == "mine"
    assert list(run.iterdir()) == []


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_run_is_never_touched(tmp_path: Path, force: bool) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "somebody else\'s manifest"}')
    with pytest.raises(RunDirectoryError, match="holds no run"):
        RunDirectory.create(tmp_path, "new", force=force)
    assert (tmp_path / "manifest.json").exists()


def test_a_manifest_that_is_cut_off_is_called_corrupt_and_stays(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 3, ')
    with pytest.raises(RunDirectoryError, match=r"its manifest\.json is corrupt: nothing"):
        RunDirectory.create(tmp_path, "new", force=True)
    assert (tmp_path / "manifest.json").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', "\x00"])
def test_a_manifest_that_is_none_makes_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert not is_run_directory(tmp_path)


def test_a_json_document_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "x")
    directory.write_json("a.json", {"a": 1})
    with pytest.raises(TypeError):
        directory.write_json("a.json", {"a": object()})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]

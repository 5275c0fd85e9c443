"""`cbn replay`: the same plan gives the same run, without the scenario."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.sim


@pytest.fixture
def first(cbn, tiny, tmp_path):
    done = cbn("run", tiny, "--world", "sim", "--out", "first", "--quiet", "--set", "seed=4")
    assert done.returncode == 0, done.stderr
    return tmp_path / "first"


def bytes_of(run):
    """What a simulated run writes that must not depend on when and where it ran."""
    files = [run / "events.jsonl", run / "plan.json", *sorted((run / "captures").iterdir())]
    return {path.name: path.read_bytes() for path in files}


def test_a_simulated_run_is_repeated_byte_for_byte_without_its_scenario(cbn, first, tiny, tmp_path):
    tiny.unlink()
    done = cbn("replay", first, "--out", "again", "--quiet")
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "again") == bytes_of(first)
    manifest = json.loads((tmp_path / "again" / "manifest.json").read_text())
    earlier = json.loads((first / "manifest.json").read_text())
    assert manifest["replay_of"] == earlier["run_id"] != manifest["run_id"]
    assert manifest["overrides"] == {"seed": "4"}
    assert (tmp_path / "again" / "scenario.yaml").read_bytes() == (first / "scenario.yaml").read_bytes()


def test_a_replay_can_be_replayed_and_an_edited_scenario_is_left_out(cbn, first, tmp_path):
    (first / "scenario.yaml").write_text("name: other\n")
    done = cbn("replay", first, "--out", "again", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "complete"
    assert "not what the plan was made of" in done.stderr
    assert not (tmp_path / "again" / "scenario.yaml").exists()
    done = cbn("replay", "again", "--out", "third", "--quiet")
    assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "third") == bytes_of(first)


def test_an_edited_plan_is_refused_and_says_what_to_edit_instead(cbn, first, tmp_path):
    plan = (first / "plan.json").read_text()
    (first / "plan.json").write_text(plan.replace("price < 50", "price < 0"))
    done = cbn("replay", first, "--out", "again", "--quiet")
    assert done.returncode == 2
    for text in (
        "nothing was started",
        "plan.json: it was changed or damaged",
        "change its scenario",
        "--set",
    ):
        assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "again").exists()
    (first / "plan.json").write_text(plan)
    assert cbn("replay", first, "--out", "again", "--quiet").returncode == 0


def test_a_run_of_an_earlier_version_is_refused_and_says_what_to_do(cbn, first):
    manifest = json.loads((first / "manifest.json").read_text())
    (first / "manifest.json").write_text(json.dumps({**manifest, "format": 1}))
    (first / "plan.json").rename(first / "plan.yaml")
    for command in ("replay", "topo show", "analyze"):
        done = cbn(*command.split(), first)
        assert done.returncode == 2, command
        assert "format is 1; this version reads format 3; run its scenario.yaml again" in done.stderr
        assert "Traceback" not in done.stderr


def test_what_is_no_run_or_would_overwrite_itself_is_refused(cbn, first, tmp_path):
    assert "no such directory" in cbn("replay", "nowhere").stderr
    (tmp_path / "empty").mkdir()
    assert "not a run directory" in cbn("replay", "empty").stderr
    done = cbn("replay", first, "--out", first, "--force")
    assert done.returncode == 2
    assert "the run that is to be repeated" in done.stderr
    assert (first / "plan.json").exists()

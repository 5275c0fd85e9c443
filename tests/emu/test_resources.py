"""What nodes take of the machine: limits that hold, and the account of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.emu import cgroups
from testbed.emu.cleanup import clean
from testbed.emu.preflight import plan_problems
from testbed.plan.model import Plan


def with_limit(plan: Plan, name: str, cpu: float) -> Plan:
    return replace(plan, nodes=tuple(replace(n, cpu=cpu) if n.name == name else n for n in plan.nodes))


def groups_of(bed: Any) -> list[Path]:
    found = cgroups.hierarchy()
    assert found is not None
    folder = found.root / cgroups.OURS / bed.run_id
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.exists() else []


def needs_groups(plan: Plan) -> None:
    why = cgroups.why_not(plan)
    if why:
        pytest.skip(why)


@pytest.mark.emu
def test_a_node_runs_in_a_group_with_its_share_and_the_group_goes_with_the_run(
    bed: Any, progress: Any
) -> None:
    plan = with_limit(bed.plan(), "r2", 0.25)
    needs_groups(plan)
    seen: dict[str, Any] = {}

    def look() -> None:
        for group in groups_of(bed):
            seen[group.name] = [int(pid) for pid in (group / cgroups.MEMBERS).read_text().split()]
            limit = group / "cpu.cfs_quota_us"
            seen["quota"] = (limit if limit.exists() else group / "cpu.max").read_text().split()[0]
        seen["process"] = bed.process_of("r2")

    progress.at_phase["drain"] = look
    outcome = bed.run(plan, progress)
    assert outcome.outcome == "complete", outcome.message
    assert seen == {"r2": [seen["process"]], "quota": "25000", "process": seen["process"]}
    assert groups_of(bed) == []


@pytest.mark.emu
@pytest.mark.usefixtures("sole_cleaner")
def test_clean_removes_the_groups_of_a_dead_run(bed: Any) -> None:
    plan = with_limit(bed.plan(), "r2", 0.5)
    needs_groups(plan)
    shares = cgroups.Shares(plan, bed.run_id)
    shares.make()
    from testbed.live.registry import registry_root

    folder = registry_root() / bed.run_id
    folder.mkdir(parents=True)
    assert len(groups_of(bed)) == 1
    clean()
    assert groups_of(bed) == []
    assert not folder.exists()


def test_a_machine_without_the_controller_says_so_before_anything_starts(
    bed: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("tmpfs /tmp tmpfs rw 0 0\ncgroup2 /nowhere cgroup2 rw 0 0\n")
    plan = with_limit(bed.plan(), "r2", 0.5)
    assert "no control group hierarchy" in (cgroups.why_not(plan, mounts) or "")
    assert cgroups.why_not(bed.plan(), mounts) is None
    monkeypatch.setattr(cgroups, "hierarchy", lambda *_: None)
    (problem,) = plan_problems(plan)
    assert "r2" in problem
    assert "--world sim" in problem


@pytest.mark.emu
def test_the_account_names_every_node_and_adds_up_its_lives(bed: Any, progress: Any) -> None:
    faults = "faults: [{at: 100ms, crash: r3}, {at: 200ms, start: r3}]\n"
    assert bed.run(bed.plan(extra=faults), progress).outcome == "complete"
    rows = json.loads((bed.out / "logs" / "resources.json").read_text())["nodes"]
    assert [row["name"] for row in rows] == ["r1", "r2", "r3", "a", "b", "c"]
    assert [row["lives"] for row in rows] == [1, 1, 2, 1, 1, 1]
    for row in rows:
        assert row["user_s"] + row["system_s"] > 0
        assert row["peak_resident_bytes"] > row["unique_bytes"] > 0
        assert row["unique_bytes"] < 25 * 1024 * 1024
        assert row["waits"] > 0

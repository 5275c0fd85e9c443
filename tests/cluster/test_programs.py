"""Programs that are clients of a network on several machines: by a scenario, and in the place of others."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import MACHINES, Cbn, Cluster
from tests.cluster.running import await_idle, command, run, state
from tests.emu.test_programs import PUBLISHER, SCENARIO, SUBSCRIBER

pytestmark = pytest.mark.cluster

PLACES = ("--put", "r1=m1", "--put", "r2=m2")
WHO = """
import os, pathlib, sys
import cbn
print("as", os.getuid() != 0, pathlib.Path("beside.txt").read_text().strip(), sys.argv[1:])
pathlib.Path("written.txt").write_text("by pub")
"""
ASKING = """
import asyncio
import cbn

async def main():
    async with cbn.Client.from_environment() as client:
        await client.publish({"n": 4})

asyncio.run(main())
print("published", open("beside.txt").read().strip())
raise SystemExit(3)
"""


def written(folder: Path, **programs: str) -> Path:
    """A scenario of the tests of `emu`, with its programs."""
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "beside.txt").write_text("sent along")
    path = folder / "programs.yaml"
    path.write_text(SCENARIO)
    return path


def events(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]


def test_programs_run_on_the_machines_of_their_clients_as_on_one(
    provisioned: Cluster, tmp_path: Path
) -> None:
    before = {machine: state(provisioned, machine) for machine in MACHINES}
    scenario = written(tmp_path, pub=WHO + PUBLISHER, sub=SUBSCRIBER)
    done = run(tmp_path, command(provisioned, scenario, *PLACES, "--out", "out"))
    assert done.returncode == 0, done.stderr + done.stdout
    told = (tmp_path / "out" / "logs" / "pub.log").read_text().splitlines()
    assert told == ["as True sent along []", "published"]
    assert (tmp_path / "out" / "machines" / "m1" / "programs" / "written.txt").read_text() == "by pub"
    of_run = events(tmp_path / "out")
    ends = {e["node"]: e["status"] for e in of_run if e["event"] == "program_ended"}
    assert ends == {"pub": 0, "sub": 0}
    delivered = Counter(e["node"] for e in of_run if e["event"] == "deliver")
    assert delivered["old"] == 10
    assert {machine: state(provisioned, machine) for machine in MACHINES} == before


def test_programs_crash_and_start_again_by_plan_and_one_that_fails_is_told(
    provisioned: Cluster, tmp_path: Path
) -> None:
    scenario = written(tmp_path, pub="import asyncio\nraise SystemExit(7)\n", sub=SUBSCRIBER)
    text = SCENARIO.replace("duration: 60s", "duration: 4s\nfaults: [{at 1s: crash sub}, {at 2s: start sub}]")
    scenario.write_text(text)
    done = run(tmp_path, command(provisioned, scenario, *PLACES, "--out", "out"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "m1: the program of pub ended with exit status 7 (log: logs/pub.log" in done.stdout + done.stderr
    of_sub = [e for e in events(tmp_path / "out") if e["node"] == "sub"]
    starts = [e for e in of_sub if e["event"] == "program_started"]
    ends = [e["status"] for e in of_sub if e["event"] == "program_ended"]
    assert len(starts) == len(ends) == 2
    assert ends[0] == -9


def test_a_folder_that_is_too_large_to_be_sent_is_refused_before_anything_is_made(
    provisioned: Cluster, tmp_path: Path
) -> None:
    scenario = written(tmp_path, pub=PUBLISHER, sub=SUBSCRIBER)
    with (tmp_path / "large").open("wb") as large:
        large.truncate(33 << 20)
    done = run(tmp_path, command(provisioned, scenario, *PLACES, "--out", "out"))
    assert done.returncode == 3
    assert "has more than 32 MiB or 2,000 files in it" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_program_takes_the_place_of_a_client_on_its_machine_and_gives_it_back(
    provisioned: Cluster, cbn: Cbn, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(ASKING)
    (tmp_path / "beside.txt").write_text("sent along")
    name = f"lent-{os.getpid()}"

    hosts = ("--world", "cluster", "--hosts", provisioned.hosts_file)
    up = cbn("up", "quickstart", *hosts, "--name", name, "--out", "out", "--quiet")
    try:
        assert up.returncode == 0, up.stderr
        lent = cbn("exec", "--run", name, "bob", "--", "python", "app.py")
        assert (lent.returncode, lent.stdout) == (3, "published sent along\n"), lent.stderr
        nobody = cbn("exec", "--run", name, "bob", "--", "no-such-program")
        assert nobody.returncode == 127, nobody.stderr
        assert cbn("pub", "--run", name, "bob", "n = 5").returncode == 0, "it has come back"
        ended = cbn("down", name, "--quiet", "--json")
        assert ended.returncode == 0, ended.stderr
        [entry] = json.loads(ended.stdout)["ended"]
        assert (entry["verdict"]["missing"], entry["verdict"]["spurious"]) == (0, 0)
    finally:
        cbn("down", name, "--no-judge", "--quiet")
    of_bob = [e for e in events(tmp_path / "out") if e["node"] == "bob"]
    assert [e["status"] for e in of_bob if e["event"] == "program_ended"] == [3, 127]
    assert sum(e["event"] == "publish" for e in of_bob) == 2
    await_idle(provisioned)

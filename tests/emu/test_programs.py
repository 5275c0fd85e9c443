"""Programs that are clients of an emulated run: their events and ends, crashes by plan, what they leave."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analysis.oracle import judge_events, oracle_of
from nodes.processes import started_ticks
from testbed.emu.run import EmulatedRun
from testbed.plan.load import load_plan
from testbed.runs.directory import RunDirectory, new_run_id
from testbed.runs.world import Outcome
from tests.emu.conftest import ROOT, RecordedProgress

pytestmark = pytest.mark.emu

PUBLISHER = """
import asyncio, sys
import cbn

async def main():
    async with cbn.Client.from_environment() as client:
        await client.subscribe("ready any boolean")
        await anext(client)
        await burst(client)
        await client.publish({"over": True})

async def burst(client):
    for n in range(60):
        await client.publish({"n": n})

asyncio.run(main())
print("published")
"""
SUBSCRIBER = """
import asyncio
import cbn

async def main():
    async with cbn.Client.from_environment() as client:
        for wanted in ("n any integer", "over = true"):
            subscription = await client.subscribe(wanted)
        await subscription.settled()
        inviting = asyncio.create_task(invite(client))
        async for delivery in client:
            if LAST(delivery.attributes):
                break
            print("got", delivery.attributes["n"])

async def invite(client):
    while True:
        await client.publish({"ready": True})
        await asyncio.sleep(0.05)

def LAST(attributes):
    return "over" in attributes

asyncio.run(main())
"""
LISTENER = SUBSCRIBER.replace("return", "return None and").replace('["n"]', "")
"""The same, but it does not end."""
SCENARIO = """
name: programs
topology: {routers: [r1, r2], links: [r1 - r2]}
clients:
  pub: {at: r1, run: python pub.py}
  sub: {at: r2, run: python sub.py}
  old: {at: r2, subscribe: [n < 10]}
record: {captures: false}
timing: {settle: 500ms}
duration: 60s
"""
"""They end by themselves, long before that."""


class Ran:
    """A run that has ended."""

    def __init__(self, folder: Path, outcome: Outcome, lines: list[str]) -> None:
        self.outcome = outcome
        self.lines = lines
        self.logs = folder / "run" / "logs"
        text = (folder / "run" / "events.jsonl").read_text(encoding="utf-8")
        self.events = [json.loads(line) for line in text.splitlines()]

    def of(self, node: str, *kinds: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["node"] == node and (not kinds or e["event"] in kinds)]

    def output(self, node: str) -> list[str]:
        return (self.logs / f"{node}.log").read_text(encoding="utf-8").splitlines()


def run(folder: Path, scenario: str, **programs: str) -> Ran:
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    path = folder / "programs.yaml"
    path.write_text(scenario, encoding="utf-8")
    plan, progress = load_plan(path), RecordedProgress()
    directory = RunDirectory.create(folder / "run", new_run_id("programs", "emu"))
    outcome = EmulatedRun(plan, directory, progress).outcome()
    assert outcome.outcome == "complete", outcome.message
    return Ran(folder, outcome, progress.lines)


def judged(folder: Path, ran: Ran) -> Any:
    plan = load_plan(folder / "programs.yaml")
    ids = {node.name: node.node_id for node in plan.nodes}
    return judge_events(oracle_of(plan, ran.events, ran.outcome.start_ns), ran.events, ids)


def test_what_programs_do_as_clients_is_in_the_events_and_is_judged(tmp_path: Path) -> None:
    ran = run(tmp_path, SCENARIO, pub=PUBLISHER, sub=SUBSCRIBER)
    found = judged(tmp_path, ran)
    assert (found.missing, found.duplicate, found.spurious) == ([], [], [])
    assert found.counts.owed >= 10, "at least those of the scripted client"
    assert len(ran.of("pub", "publish")) == 61
    assert [e["n"] for e in ran.of("sub")] == list(range(len(ran.of("sub"))))
    assert len(ran.of("sub", "deliver")) == 61
    assert len(ran.of("old", "deliver")) == 10, "scripted clients go on beside them"
    assert ran.output("pub") == ["published"]
    assert ran.output("sub") == [f"got {n}" for n in range(60)]


def test_the_end_of_a_program_is_a_fact_of_the_run_which_ends_with_the_last(tmp_path: Path) -> None:
    ran = run(tmp_path, SCENARIO, pub=PUBLISHER, sub=SUBSCRIBER)
    for name, subscriptions in (("pub", 1), ("sub", 2)):
        assert [e["status"] for e in ran.of(name, "program_ended")] == [0]
        assert len(ran.of(name, "unsubscribe")) == subscriptions, "what it wanted ends with it"
    assert ran.of("", "fault") == []
    assert ran.lines == []
    assert ran.outcome.phases["workload_s"] < 60


def test_a_program_that_goes_on_is_asked_to_end_when_the_duration_is_over(tmp_path: Path) -> None:
    scenario = SCENARIO.replace("60s", "20s")
    ran = run(tmp_path, scenario, pub=PUBLISHER, sub=LISTENER)
    [ended] = ran.of("sub", "program_ended")
    assert ended["status"] == 0, "the library takes SIGTERM for the end of its block"
    assert ended["time_ns"] >= ran.outcome.start_ns + 20_000_000_000
    assert len(ran.of("sub", "unsubscribe")) == 2
    assert ran.lines == []


def test_a_program_without_asyncio_leaves_the_network_when_it_is_asked_to_end(tmp_path: Path) -> None:
    synchronous = """
import cbn.sync

with cbn.sync.Client.from_environment() as client:
    wanted = client.subscribe("over = true")
    wanted.settled()
    while True:
        client.publish({"ready": True})
        try:
            print("got", wanted.get(timeout_s=0.05).attributes["over"], flush=True)
            break
        except TimeoutError:
            pass
    for delivery in wanted:
        raise AssertionError("another one")
"""
    ran = run(tmp_path, SCENARIO.replace("60s", "20s"), pub=PUBLISHER, sub=synchronous)
    assert ran.output("sub") == ["got True"]
    assert [e["status"] for e in ran.of("sub", "program_ended")] == [0]
    assert len(ran.of("sub", "unsubscribe")) == 1
    assert ran.lines == []


def test_a_program_that_fails_is_told_with_its_last_words_and_the_run_goes_on(tmp_path: Path) -> None:
    failing = "import sys\nprint('no such flight', file=sys.stderr)\nsys.exit(3)\n"
    ran = run(tmp_path, SCENARIO, pub=failing, sub="import nothing.such")
    told = sorted(ran.lines)
    assert told[0].startswith("the program of pub ended with exit status 3: no such flight (log: ")
    assert told[1].startswith("the program of sub ended with exit status 1: ModuleNotFoundError")
    assert ran.of("pub", "program_ended")[0]["status"] == 3


def test_a_program_that_does_not_exist_is_told_as_a_shell_does(tmp_path: Path) -> None:
    ran = run(tmp_path, SCENARIO.replace("python pub.py", "no-such-program --at all"), sub="")
    [told] = ran.lines
    assert "the program of pub ended with exit status 127: cannot run no-such-program in " in told
    assert told.split(" in ")[1].startswith(str(tmp_path))


def test_a_program_that_ends_without_leaving_has_crashed_as_far_as_the_network_knows(tmp_path: Path) -> None:
    leaving = "import os; os._exit(9) if delivery.attributes['n'] == 20 else print("
    rude = SUBSCRIBER.replace("print(", leaving)
    ran = run(tmp_path, SCENARIO, pub=PUBLISHER, sub=rude)
    faults = [(e["event"], e.get("target")) for e in ran.of("", "fault", "converged")]
    assert faults == [("converged", None), ("fault", "sub"), ("converged", None)]
    assert len(ran.of("sub", "unsubscribe")) == 2, "the run writes it in the program's place"
    found = judged(tmp_path, ran)
    assert (found.missing, found.spurious) == ([], [])


def test_programs_crash_and_start_again_by_plan(tmp_path: Path) -> None:
    """The publisher says `over` in its second life alone, however far it came in its first."""
    faults = "faults: [at 1s: pause sub, at 1200ms: resume sub, at 8s: crash pub, at 9s: start pub]\n"
    twice = PUBLISHER.replace(
        "async def burst(client):",
        """
async def burst(client):
    if not os.path.exists("lived"):
        open("lived", "w")
        while True:
            await client.publish({"n": 0})
            await asyncio.sleep(0.02)
""",
    ).replace("import asyncio", "import asyncio, os")
    ran = run(tmp_path, SCENARIO + faults, pub=twice, sub=SUBSCRIBER)
    assert [e["status"] for e in ran.of("pub", "program_ended")] == [-9, 0]
    assert len(ran.of("pub", "program_started")) == 2
    assert [e["n"] for e in ran.of("pub")] == list(range(len(ran.of("pub"))))
    published = [(e["source"], e["sequence"]) for e in ran.of("pub", "publish")]
    assert max(Counter(published).values()) == 1, "no number twice"
    found = judged(tmp_path, ran)
    assert (found.missing, found.duplicate, found.spurious) == ([], [], [])


def test_the_application_of_the_tutorial_runs_as_it_stands_there(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "writing-applications.md").read_text(encoding="utf-8")
    shop, agency, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [scenario] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert max(len(text.splitlines()) for text in (shop, agency)) <= 24
    ran = run(tmp_path, scenario, shop=shop, agency=agency)
    assert len(ran.output("agency")) == 50
    assert re.fullmatch(r"[1-3]\d\d\.0 window seat, no refund \d+\.\d ms", ran.output("agency")[0])
    assert [e["status"] for e in (*ran.of("shop", "program_ended"), *ran.of("agency", "program_ended"))] == [
        0,
        0,
    ]
    assert ran.lines == []


def test_all_that_a_program_has_started_ends_with_the_run(tmp_path: Path) -> None:
    started = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!"
    scenario = SCENARIO.replace("python pub.py", f"sh -c '{started}'").replace("60s", "1s")
    scenario = scenario.replace("python sub.py", f"sh -c '{started}; wait'")
    ran = run(tmp_path, scenario)
    for name in ("pub", "sub"):
        assert len(ran.output(name)) == 2
        for pid in ran.output(name):
            assert started_ticks(int(pid)) is None


def test_a_program_that_does_not_end_when_asked_is_killed_and_that_is_told(tmp_path: Path) -> None:
    stubborn = SCENARIO.replace("python pub.py", """sh -c 'trap "" TERM; sleep 1000'""").replace("60s", "1s")
    ran = run(tmp_path, stubborn.replace("python sub.py", "sh -c true"))
    assert ran.lines == ["the program of pub did not end within 10 s of SIGTERM and was killed"]

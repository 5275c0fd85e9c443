"""Namespaces whose nodes prove to their neighbours who they are, with keys that nobody else can read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.config import Neighbours, SecurityConfig
from nodes.config_file import load_keys
from testbed.plan.load import load_plan
from testbed.plan.model import Fault
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = pytest.mark.emu
SEALS_REFUSED = {"no_seal", "unknown_key", "wrong_seal", "repeated_seal"}
QUICKSTART = Path(__file__).parents[2] / "topologies" / "scenarios" / "quickstart.yaml"


def test_both_worlds_deliver_the_same_and_each_run_has_keys_of_its_own(
    bed: Any, second_bed: Any, progress: Any
) -> None:
    plan = load_plan(QUICKSTART, overrides={"security.neighbours": "required"})
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    assert bed.hops() == second_bed.hops()
    assert bed.delivered() == second_bed.delivered() == bed.owed()
    keys = [load_keys(path).links for path in sorted((bed.out / "config").glob("*.keys.toml"))]
    assert len(keys) == len(plan.nodes)
    secrets = [key.secret for of in keys for held in of.values() for key in held]
    assert len(secrets) == 2 * len(plan.links) == 2 * len(set(secrets))
    others = [path for path in bed.out.rglob("*") if path.is_file() and ".keys." not in path.name]
    texts = b"".join(path.read_bytes() for path in others)
    assert not any(secret in texts or secret.hex().encode() in texts for secret in set(secrets))
    assert refused(bed.out) == {}


def refused(run: Path) -> dict[str, dict[str, int]]:
    """By node, the packets that were refused for their seals."""
    found = {}
    for path in (run / "logs").glob("*.status.json"):
        drops = json.loads(path.read_text(encoding="utf-8"))["drops"]["control"]
        found[path.name] = {reason: n for reason, n in drops.items() if reason in SEALS_REFUSED}
    assert found
    return {name: drops for name, drops in found.items() if drops}


def test_keys_are_changed_while_messages_flow_and_none_is_lost(bed: Any) -> None:
    plan, times = bed.plan(count=300), [200, 400, 401, 900]
    changes = [Fault(at * 1_000_000, "rekey", link.name) for at in times for link in plan.links]
    outcome = bed.run(replace(plan, security=SecurityConfig(Neighbours.REQUIRED), faults=tuple(changes)))
    assert outcome.outcome == "complete", outcome.message
    assert bed.delivered() == bed.owed() != set()
    assert refused(bed.out) == {}
    for path in (bed.out / "config").glob("*.keys.toml"):
        assert path.stat().st_mode & 0o777 == 0o600
        assert {key.key_id for of in load_keys(path).links.values() for key in of} == {1 + len(times)}


def test_who_stands_still_or_is_down_meanwhile_has_the_new_keys_when_it_goes_on(bed: Any) -> None:
    plan = bed.plan(count=300)
    broken = [(200, "pause", "r3"), (400, "resume", "r3"), (500, "crash", "r2"), (700, "start", "r2")]
    changes = [(at, "rekey", link.name) for at in (300, 600) for link in plan.links]
    faults = [Fault(at * 1_000_000, do, target) for at, do, target in sorted([*broken, *changes])]
    outcome = bed.run(replace(plan, security=SecurityConfig(Neighbours.REQUIRED), faults=tuple(faults)))
    assert outcome.outcome == "complete", outcome.message
    for path in (bed.out / "config").glob("*.keys.toml"):
        assert {key.key_id for of in load_keys(path).links.values() for key in of} == {3}

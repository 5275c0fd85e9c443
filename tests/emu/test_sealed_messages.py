"""Namespaces whose datagrams of messages are sealed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.config import Messages, Neighbours, SecurityConfig
from testbed.plan.load import load_plan
from testbed.plan.model import Fault
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld
from tests.emu.test_sealed_runs import QUICKSTART

pytestmark = pytest.mark.emu
SEALED = SecurityConfig(neighbours=Neighbours.REQUIRED, messages=Messages.REQUIRED)
REASONS = {"no_seal", "unknown_key", "wrong_seal", "repeated_seal", "other_session"}


def refused(run: Path) -> dict[str, int]:
    """By reason, the messages that were refused for their seals, at routers and clients."""
    found: Counter[str] = Counter()
    for path in (run / "logs").glob("*.status.json"):
        drops = json.loads(path.read_text(encoding="utf-8"))["drops"]["forwarding"]
        found.update({reason.lower(): n for reason, n in drops.items() if reason.lower() in REASONS})
    return {reason: n for reason, n in found.items() if n}


def test_both_worlds_deliver_the_same_sealed_messages(bed: Any, second_bed: Any, progress: Any) -> None:
    overrides = {"security.neighbours": "required", "security.messages": "required"}
    plan = load_plan(QUICKSTART, overrides=overrides)
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    assert bed.hops() == second_bed.hops()
    assert bed.delivered() == second_bed.delivered() == bed.owed()
    assert refused(bed.out) == {}


def test_keys_are_changed_while_sealed_messages_flow_and_none_is_lost(bed: Any) -> None:
    plan, times = bed.plan(count=300), [200, 400, 401, 900]
    changes = [Fault(at * 1_000_000, "rekey", link.name) for at in times for link in plan.links]
    outcome = bed.run(replace(plan, security=SEALED, faults=tuple(changes)))
    assert outcome.outcome == "complete", outcome.message
    assert bed.delivered() == bed.owed() != set()
    assert refused(bed.out) == {}

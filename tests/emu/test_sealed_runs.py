"""Namespaces whose nodes prove to their neighbours who they are, with keys that nobody else can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nodes.config_file import load_keys
from testbed.plan.load import load_plan
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = pytest.mark.emu
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
    keys = [load_keys(path) for path in sorted((bed.out / "config").glob("*.keys.toml"))]
    assert len(keys) == len(plan.nodes)
    secrets = [key.secret for of in keys for held in of.values() for key in held]
    assert len(secrets) == 2 * len(plan.links) == 2 * len(set(secrets))
    others = [path for path in bed.out.rglob("*") if path.is_file() and ".keys." not in path.name]
    texts = b"".join(path.read_bytes() for path in others)
    assert not any(secret in texts or secret.hex().encode() in texts for secret in set(secrets))
    for status in (bed.out / "logs").glob("*.status.json"):
        refused = json.loads(status.read_text(encoding="utf-8"))["drops"]
        assert not {"no_seal", "unknown_key", "wrong_seal", "repeated_seal"} & refused.keys()

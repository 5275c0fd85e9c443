"""Namespaces whose routers sign what others pass on of them, with keys that nobody else can read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nodes.config_file import load_keys, load_signers
from nodes.wire.packets import Role
from nodes.wire.signature import Signer
from testbed.emu.world import EmulatedWorld
from testbed.plan.load import load_plan
from tests.attacks.played import ATTACKS, play

pytestmark = pytest.mark.emu
SCENARIOS = Path(__file__).parents[2] / "topologies" / "scenarios"
SIGNED = {"security.neighbours": "required", "security.records": "signed"}


def drops(run: Path, but: str = "") -> Counter[str]:
    """What was dropped of control traffic, at all nodes but one."""
    paths = [path for path in (run / "logs").glob("*.status.json") if path.name != f"{but}.status.json"]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    assert texts
    return sum((Counter(json.loads(text)["drops"]["control"]) for text in texts), Counter())


def test_each_router_has_a_key_of_its_own_and_the_public_ones_of_all(bed: Any) -> None:
    plan = load_plan(SCENARIOS / "quickstart.yaml", overrides=SIGNED)
    outcome = bed.run(plan)
    assert outcome.outcome == "complete", outcome.message
    assert bed.delivered() == bed.owed() != Counter()
    assert not {"wrong_signature", "unknown_signer", "malformed_payload"} & drops(bed.out).keys()
    signers, seeds = load_signers(bed.out / "config" / "signers.toml"), []
    for node in plan.nodes:
        seed = load_keys(bed.out / "config" / f"{node.name}.keys.toml").signing_seed
        assert bool(seed) == (node.role is Role.ROUTER)
        if seed:
            assert signers[node.node_id] == Signer(seed).public
            seeds.append(seed)
    assert len(set(seeds)) == len(signers) == len(plan.routers)
    others = [path for path in bed.out.rglob("*") if path.is_file() and ".keys." not in path.name]
    texts = b"".join(path.read_bytes() for path in others)
    assert not any(seed in texts or seed.hex().encode() in texts for seed in seeds)


def test_a_router_that_was_killed_or_has_a_new_key_is_believed_when_it_starts_again(
    bed: Any, tmp_path: Path
) -> None:
    path = tmp_path / "restarted.yaml"
    path.write_text(
        "name: restarted\ntopology: {generate: ring, size: 4}\n"
        "clients: {c1: {at: r1, subscribe: ['x > 0']}, c3: {at: r3, subscribe: ['x > 1']}}\n"
        "security: {neighbours: required, records: signed}\n"
        "faults: [{at 1s: crash r3}, {at 3s: start r3}, {at 5s: rekey_router r2}]\n"
    )
    outcome = bed.run(load_plan(path))
    assert outcome.outcome == "complete", outcome.message
    log = (bed.out / "logs" / "r1.jsonl").read_text(encoding="utf-8")
    assert log.count('"event":"keys"') == 1, "that of r2"
    signers = load_signers(bed.out / "config" / "signers.toml")
    assert signers[2] == Signer(load_keys(bed.out / "config" / "r2.keys.toml").signing_seed).public
    # Its neighbours send r2 what it has signed with its old key: their records of it.
    assert not {"wrong_signature", "unknown_signer"} & drops(bed.out, but="r2").keys()


def test_slander_by_a_process_with_keys_is_refused(bed: Any) -> None:
    overrides = {"parameters__by": "slander", "parameters__share": "1", "security__records": "signed"}
    found = play(ATTACKS / "liar.yaml", bed.out, EmulatedWorld(), bed.run_id, **overrides)
    assert found.complete, found.outcome.message
    [attack] = found.attacks["attacks"]
    assert attack["acts"] >= found.drops()["wrong_signature"] > 0.9 * attack["acts"] > 100
    assert sum(status["core"]["superseded"] for status in found.statuses.values()) == 0

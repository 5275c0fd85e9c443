"""`cbn diff` on emulated runs: the same twice is no difference; 5 ms on a link are found on that link.

pub --- r1 --- r2 --- r3 --- sub, few
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed.cli.main import main

pytestmark = [pytest.mark.emu, pytest.mark.timed, pytest.mark.sim, pytest.mark.spark]

SCENARIO = """
name: twice
seed: 3
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, {between: [r2, r3], delay: 2ms}]
clients:
  pub: {at: r1, publish: [{every: 5ms, count: 400, from: 0s, message: {n: {count: 0}}}]}
  sub: {at: r3, subscribe: ["n any integer"]}
  few: {at: r3, subscribe: ["n >= 200"]}
"""
ON_A_BUSY_MACHINE = "3ms"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, spark) -> Path:
    """Three emulated runs: one, its replay, and one with a slower link; and the first one simulated."""
    folder = tmp_path_factory.mktemp("twice")
    (folder / "s.yaml").write_text(SCENARIO)
    (folder / "slow.yaml").write_text(SCENARIO.replace("delay: 2ms", "delay: 7ms"))
    for name in ("s", "slow"):
        assert (
            main(["run", str(folder / f"{name}.yaml"), "--world", "emu", "--out", str(folder / name), "-q"])
            == 0
        )
    assert main(["replay", str(folder / "s"), "--out", str(folder / "again"), "-q"]) == 0
    assert main(["replay", str(folder / "s"), "--world", "sim", "--out", str(folder / "sim"), "-q"]) == 0
    return folder


def diff(folder: Path, before: str, after: str, capsys) -> tuple[int, dict[str, object]]:
    capsys.readouterr()
    paths = [str(folder / before), str(folder / after)]
    code = main(["diff", *paths, "--threshold", ON_A_BUSY_MACHINE, "--json", "-q"])
    return code, json.loads(capsys.readouterr().out)


def test_the_same_plan_twice_is_no_difference(folder, capsys):
    code, reported = diff(folder, "s", "again", capsys)
    assert (code, reported["differences"]) == (0, [])
    manifest = json.loads((folder / "again" / "manifest.json").read_text())
    assert manifest["replay_of"] == json.loads((folder / "s" / "manifest.json").read_text())["run_id"]


def test_five_milliseconds_more_are_found_on_the_link_that_has_them(folder, capsys):
    code, reported = diff(folder, "s", "slow", capsys)
    links = [d for d in reported["differences"] if d.startswith("link ")]
    assert code == 1
    assert len(links) == 1, reported["differences"]
    assert re.match(r"link r2 > r3: \+[4-7](\.\d+)? ms", links[0]), links
    assert "link r2--r3: impairment.delay_ns: 2 ms before, 7 ms after" in reported["circumstances"]
    assert reported["deliveries"]["gone"] == reported["deliveries"]["new"] == 0


def test_emulated_and_simulated_deliver_the_same_and_no_link_is_far_off(folder, capsys):
    _, reported = diff(folder, "s", "sim", capsys)
    assert reported["deliveries"]["gone"] == reported["deliveries"]["new"] == 0
    assert not [d for d in reported["differences"] if d.startswith(("link ", "deliveries", "messages"))]
    assert any(c.startswith("world: emu before, sim after") for c in reported["circumstances"])

"""Clients that are programs: what the plan has of them, and who refuses them."""

from __future__ import annotations

from pathlib import Path

from testbed.plan.load import load_plan
from testbed.plan.model import Plan
from testbed.plan.recorded import plan_from_json, plan_to_json
from testbed.sim.world import SimulatedWorld

SCENARIO = """
name: programs
topology: {routers: [r1, r2], links: [r1 - r2]}
duration: 1500ms
clients:
  shop: {at: r1, run: python shop.py --name 'two words'}
  alice: {at: r2, subscribe: [x > 1]}
faults:
  - at 1s: crash shop
  - at 1200ms: start shop
  - at 1300ms: crash one of routers
"""


def plan_in(folder: Path) -> Plan:
    path = folder / "programs.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return load_plan(path)


def test_a_program_is_split_into_words_as_a_shell_does_and_recorded(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    assert [(node.name, node.run) for node in plan.programs] == [
        ("shop", ("python", "shop.py", "--name", "two words"))
    ]
    assert [node.name for node in plan.scripted] == ["alice"]
    assert plan.duration_ns == 1_500_000_000
    assert plan_from_json(plan_to_json(plan)) == plan


def test_a_program_crashes_if_it_is_named_and_is_never_drawn_among_routers(tmp_path: Path) -> None:
    crash, start, drawn = plan_in(tmp_path).faults
    assert (crash.do, crash.target) == ("crash", "shop")
    assert (start.do, start.target) == ("start", "shop")
    assert drawn.target in ("r1", "r2")


def test_the_simulator_refuses_a_program_and_says_where_it_stands_and_what_to_do(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    [problem] = SimulatedWorld().problems(plan)
    assert problem == (
        f"{tmp_path}/programs.yaml: clients.shop.run: the simulator cannot run a program "
        "(`python shop.py --name 'two words'`), since its time is not real: use `--world emu`"
    )

"""Chooses the world of a run and never does so silently."""

from __future__ import annotations

from testbed.cli import exits
from testbed.emu.options import EmuOptions
from testbed.plan.model import Plan
from testbed.runs.world import Progress, World


def choose_world(name: str, plan: Plan, progress: Progress, options: EmuOptions | None = None) -> World:
    """The world of that name, or for `auto` the best one that can run the plan here.

    Args:
        name: `sim`, `emu` or `auto`.
        plan: what is to run.
        progress: is told which was chosen and why.
        options: how to emulate; the simulator needs none.

    Raises:
        CommandError: the plan cannot run there on this machine.
    """
    if name == "auto":
        return _best(plan, progress, options)
    world = _world(name, options)
    if name == "sim" and options not in (None, EmuOptions()):
        progress.say("the simulator keeps its own time and links: --dilate and --links mean nothing to it")
    problems = world.problems(plan)
    if problems:
        raise exits.CommandError(_cannot(name, problems), exits.MACHINE)
    return world


def _best(plan: Plan, progress: Progress, options: EmuOptions | None) -> World:
    emulated = _world("emu", options)
    problems = emulated.problems(plan)
    if not problems:
        progress.say("world emu: this machine can emulate (--world sim simulates instead)")
        return emulated
    progress.say("world sim, because this plan cannot be emulated here:")
    for problem in problems:
        progress.say(f"  {problem}")
    return choose_world("sim", plan, progress, options)


def _world(name: str, options: EmuOptions | None) -> World:
    if name == "emu":
        from testbed.emu.world import EmulatedWorld

        return EmulatedWorld(options)
    from testbed.sim.world import SimulatedWorld

    return SimulatedWorld()


def _cannot(name: str, problems: list[str]) -> str:
    return "\n".join([f"this cannot run in the world {name} on this machine:", *(f"  {p}" for p in problems)])

"""`cbn up`: builds a network and leaves it running."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import (
    NETWORKS,
    Command,
    add_captures,
    add_emulation,
    add_json,
    add_out,
    add_placement,
    add_quiet,
    add_scenario,
    emu_options,
)
from testbed.cli.output import show
from testbed.cli.progress import progress
from topologies.quantities import how_many

if TYPE_CHECKING:
    from testbed.live.supervisor import Launch, Supervision
    from testbed.plan.model import Plan
    from testbed.runs.world import Progress, World

_HELP = """\
examples:
  cbn up quickstart
  cbn up my.yaml --name lab --set scheme=siena
  cbn up my.yaml --world cluster --hosts hosts.yaml
      on several machines
  cbn up my.yaml --workload
      also let the clients do what the scenario's scripts say, and its faults happen

Builds the scenario's network in Mininet namespaces, waits until it has converged,
and leaves it running; `cbn down` ends it. Clients attach and subscribe to what the
scenario subscribes them to from the beginning; they publish nothing unless you
tell them to (cbn pub), or --workload does. Needs root. docs/hands-on.md has a session.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument("--name", metavar="NAME", help="what to call it (default: the scenario's name)")
    add_out(parser)
    parser.add_argument("--workload", action="store_true", help="also run the scenario's scripts and faults")
    parser.add_argument("--world", choices=("emu", "cluster"), default="emu", help="where (default: emu)")
    cluster = parser.add_argument_group("--world cluster")
    add_placement(cluster)
    add_captures(cluster)
    add_quiet(parser)
    add_emulation(parser)
    add_json(parser)


def _up(args: argparse.Namespace) -> int:
    """Build a network, wait until it is ready, and leave it to its supervisor."""
    from testbed.cli.scenario import complaints, read, tell_notes
    from testbed.live.supervisor import launch

    scenario = read(args)
    with complaints():
        plan = scenario.plan()
    tell_notes(scenario)
    supervision, world = _supervision(args, plan, scenario.text)
    with launch(supervision, world) as launched, progress(args.quiet) as shown:
        if not args.quiet:
            shown.say(
                f"{plan.name} in the world {world.name}, seed {plan.seed}, into {supervision.directory.path}"
            )
        try:
            facts = _follow(launched, shown, supervision)
        except KeyboardInterrupt:
            launched.interrupt()
            shown.say("interrupted; the network is being removed")
            _ends(launched)
            raise
    return show(args.json, facts, _next(supervision, facts))


def _supervision(args: argparse.Namespace, plan: Plan, scenario: str) -> tuple[Supervision, World]:
    from testbed.cli.execution import RUNS
    from testbed.live.supervisor import Supervision
    from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id

    name = args.name or plan.name
    _check_name(name, args.name is not None)
    run_id = new_run_id(name, args.world)
    # Problems of the machine come first: then no directory is left behind.
    world = _world(args, plan)
    if problems := world(Supervision(plan, scenario, RunDirectory(Path(), run_id), name)).problems(plan):
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise exits.CommandError(f"this network cannot be built on this machine:\n{lines}", exits.MACHINE)
    with exits.explained(RunDirectoryError):
        directory = RunDirectory.create(args.out or RUNS / run_id, run_id, force=args.force)
    supervision = Supervision(plan, scenario, directory, name, workload=args.workload)
    return supervision, world(supervision)


def _world(args: argparse.Namespace, plan: Plan) -> Callable[[Supervision], World]:
    """What makes the world of a network that is left running."""
    from testbed.cli.cluster import chosen_cluster

    cluster = chosen_cluster(args, plan)
    if cluster is not None:
        from testbed.cluster.world import SupervisedClusterWorld

        return partial(SupervisedClusterWorld, cluster)
    from testbed.emu.world import SupervisedWorld

    options = replace(emu_options(args), adjustable=True)
    return lambda supervision: SupervisedWorld(supervision, options)


def _check_name(name: str, given: bool) -> None:
    from testbed.live.registry import running

    if given and not (
        name.isascii() and name.replace("-", "").replace("_", "").isalnum() and len(name) <= 40
    ):
        raise exits.CommandError(f"--name {name!r}: expected up to 40 letters, digits, '-' and '_'")
    taken = [run for run in running() if given and run.name == name]
    if taken:
        raise exits.CommandError(
            f"--name {name}: a network has that name already ({taken[0].run_id}, {taken[0].state})"
        )


def _follow(launched: Launch, shown: Progress, supervision: Supervision) -> dict[str, Any]:
    """Show what the supervisor reports until the network is ready.

    Raises:
        CommandError: it has failed; the text is the supervisor's.
    """
    from testbed.cli.networks import show_progress

    for line in launched.lines():
        if "ready" in line:
            return dict(line["ready"])
        if "outcome" in line:
            why = line["message"]
            raise exits.CommandError(f"{supervision.directory.path}: {why}; see logs/ there", exits.FAILED)
        if "defect" in line:
            raise exits.CommandError(
                f"a defect of the supervisor: {line['defect']}; its traceback is in {_log(supervision)}",
                exits.DEFECT,
            )
        show_progress(line, shown)
    raise exits.CommandError(
        f"the supervisor was killed while it built the network (`cbn clean` removes what it left); "
        f"its log is {_log(supervision)}",
        exits.FAILED,
    )


def _ends(launched: Launch) -> None:
    for _ in launched.lines():
        continue  # until the pipe is closed: then everything is removed


def _log(supervision: Supervision) -> Path:
    from testbed.live.supervisor import LOG

    return supervision.directory.path / "logs" / LOG


def _next(supervision: Supervision, facts: dict[str, Any]) -> str:
    plan = supervision.plan
    client = plan.clients[0].name if plan.clients else None
    router = plan.routers[0].name
    commands = [
        ("cbn top", "what the nodes do, live"),
        (f"cbn attach {router}", "a shell in a node's namespace"),
    ]
    if client is not None:
        commands += [
            (f"cbn sub {client} 'n any integer'", "subscribe and watch"),
            (f"cbn pub {client} 'n = 1'", "publish"),
        ]
    if plan.links:
        commands.append((f"cbn link {plan.links[0].a}-{plan.links[0].b} delay 30ms", "change a link"))
    commands.append(("cbn down", "end it; its run directory is kept and can be analysed"))
    width = max(len(command) for command, _ in commands)
    return "\n".join(
        [
            f"{supervision.name} is running: {how_many(len(plan.routers), 'router')}, "
            f"{how_many(len(plan.clients), 'client')}, "
            f"ready after {facts['took_s']:.1f} s (supervisor: process {facts['pid']})",
            "Next:",
            *(f"  {command:<{width}}  {about}" for command, about in commands),
        ]
    )


COMMAND = Command("build a network and leave it running", _arguments, _up, NETWORKS, _HELP)

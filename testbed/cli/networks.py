"""Which running network a command means, and the connection to its supervisor."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from testbed.cli import exits
from testbed.live.clients import ControlClient, LostError, RefusedError
from testbed.live.registry import Running, matching, running
from testbed.plan.problems import did_you_mean
from testbed.runs.world import Progress

NETWORK_VARIABLE = "CBN_NETWORK"
DEATH_NOTICE_S = 1.0


def choose(name: str | None) -> Running:
    """The network of that name or id, or that of this shell (CBN_NETWORK), or the only one that runs.

    Raises:
        CommandError: there is none, or more than one, or its supervisor is dead.
    """
    name = name or os.environ.get(NETWORK_VARIABLE)
    networks = [run for run in running() if run.kept]
    found = matching(networks, name) if name else [run for run in networks if run.alive] or networks
    if not found:
        _check_root()
        raise exits.CommandError(_none(name, networks), exits.USAGE)
    if len(found) > 1:
        raise exits.CommandError(_many(name, found), exits.USAGE)
    (run,) = found
    if not run.alive:
        raise exits.CommandError(
            f"the network {run.run_id} is dead: its supervisor was killed; `cbn clean` removes what it left; "
            f"what it recorded stays in {run.record.get('directory', '?')}",
            exits.FAILED,
        )
    if run.state == "starting":
        raise exits.CommandError(f"the network {run.run_id} is still being built", exits.FAILED)
    return run


@contextmanager
def talk(name: str | None) -> Iterator[tuple[Running, ControlClient]]:
    """A connection to the supervisor of the network that is meant.

    What goes wrong while it lasts becomes a `CommandError`.
    """
    run = choose(name)
    try:
        with ControlClient(run.control) as caller:
            yield run, caller
    except RefusedError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error
    except LostError as error:
        raise exits.CommandError(_lost(run, error), exits.FAILED) from error


def show_progress(line: dict[str, Any], shown: Progress) -> None:
    """Show what a line from a supervisor reports of its progress."""
    if "phase" in line:
        shown.phase(line["phase"], line["total"])
    elif "done" in line:
        shown.advance(line["done"])
    elif "say" in line:
        shown.say(line["say"])


def node_of(run: Running, name: str) -> str:
    """The name of a node that there is.

    Raises:
        CommandError: there is none.
    """
    nodes = run.record.get("nodes", {})
    if name not in nodes:
        hint = did_you_mean(name, nodes) or f"there are {', '.join(list(nodes)[:12])}"
        raise exits.CommandError(f"{run.name} has no node {name}; {hint}")
    return name


def _check_root() -> None:
    if os.geteuid() != 0:
        raise exits.CommandError(
            "emulated networks belong to root: run this as root (sudo), as you did `cbn up`", exits.MACHINE
        )


def _none(name: str | None, networks: list[Running]) -> str:
    if name and networks:
        return f"no network {name}; there are: {_listed(networks)}"
    what = f"no network {name}" if name else "no network"
    return f"{what} is running: `cbn up SCENARIO` starts one, such as `cbn up quickstart`"


def _many(name: str | None, found: list[Running]) -> str:
    why = f"{name} may be any of these networks" if name else "several networks are running"
    return f"{why}: {_listed(found)}; say which with --run"


def _listed(networks: list[Running]) -> str:
    return ", ".join(
        f"{run.run_id} ({run.name})" if run.name != run.run_id else run.run_id for run in networks
    )


def _has_ended(run: Running) -> bool:
    """Whether the supervisor is dead, or dies in a moment: its socket closes before it is gone."""
    try:
        descriptor = os.pidfd_open(run.owner.pid) if run.owner and run.alive else None
    except ProcessLookupError:
        return True
    if descriptor is None:
        return True
    with os.fdopen(descriptor):
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(DEATH_NOTICE_S * 1000))


def _lost(run: Running, error: LostError) -> str:
    if not _has_ended(run):
        return f"{run.run_id}: {error}"
    return (
        f"{run.run_id}: its supervisor has ended meanwhile; if that was not `cbn down`, "
        f"`cbn clean` removes what it left; "
        f"{run.record.get('directory', '?')}/logs/supervisor.log may say why"
    )

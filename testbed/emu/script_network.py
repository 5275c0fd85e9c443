"""The network behind `CbnRouter`, `CbnClient` and their links in a Mininet script, or under `mn --custom`.

Mininet makes nodes and links one by one and knows no plan. They gather here; when Mininet
configures the first of them, all are there: a plan is made of them (`testbed.plan.mininet_topo`)
and the network of the plan built and started (`testbed.emu.network`). It ends when Mininet has
taken the last node away, and with the script however that ends.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mininet.log import error as show_error

from testbed.emu.hosts import CbnNode
from testbed.emu.links.link import CbnLink
from testbed.emu.network import CbnNet
from testbed.emu.preflight import machine_problems, plan_problems, raise_descriptor_limit
from testbed.live.clients import AdminError
from testbed.live.fabric import FaultError, NetworkError, NotReadyError, ProcessDiedError
from testbed.live.registry import register
from testbed.plan.load import plan_of
from testbed.plan.mininet_topo import TopoLink, TopoNode, scenario_of
from testbed.plan.model import Plan
from testbed.plan.problems import ScenarioError
from testbed.runs.directory import RunDirectory

WHAT = "the Mininet network"
_numbers = itertools.count(1)
_being_made: list[ScriptNetwork] = []


def network_being_made() -> ScriptNetwork:
    """The network to which nodes belong that are made now."""
    if not _being_made:
        _being_made.append(ScriptNetwork())
    return _being_made[0]


class ScriptNetwork:
    """Nodes and links that gather, and then the network that they are."""

    def __init__(self) -> None:
        self.net: CbnNet | None = None
        """Known once Mininet has configured the first node."""
        self._nodes: list[CbnNode] = []
        self._links: list[CbnLink] = []
        self._made = ExitStack()

    def add(self, member: CbnNode | CbnLink) -> None:
        """A node or link that Mininet has made.

        Raises:
            NetworkError: the network is built already.
        """
        if self.net is not None:
            raise NetworkError(f"{member}: the network is built; add all nodes and links before")
        if isinstance(member, CbnNode):
            self._nodes.append(member)
        else:
            self._links.append(member)

    def configured(self) -> None:
        """Build and start the network, unless that has been done; returns when it has converged.

        Raises:
            NetworkError: it cannot be; the text says what is wrong with it, or what went wrong.
        """
        if self.net is not None:
            return
        _being_made.remove(self)
        try:
            self._start(self._plan())
        except (ScenarioError, ProcessDiedError, NotReadyError, AdminError) as error:
            self.stop()
            raise NetworkError(str(error)) from error
        except BaseException:
            self.stop()
            raise

    def leave(self, node: CbnNode) -> None:
        """A node is taken away; with the last one everything ends."""
        if node in self._nodes:
            self._nodes.remove(node)
        if not self._nodes:
            self.stop()

    def ask(self, node: str, do: str, **arguments: object) -> Any:
        """Make a request of a node; returns its result.

        Raises:
            NetworkError: it cannot be done; the text says why.
        """
        try:
            return self._running().ask(node, do, **arguments)
        except (AdminError, FaultError, ProcessDiedError) as error:
            raise NetworkError(str(error)) from error

    def fault(self, do: str, node: str) -> None:
        """Let something happen to a node.

        Raises:
            NetworkError: it is in no state for that.
        """
        try:
            self._running().fault(do, node)
        except FaultError as error:
            raise NetworkError(str(error)) from error

    def unconverged(self) -> list[str]:
        """Why the network has not converged; empty: it has."""
        return self._running().unconverged()

    def stop(self) -> None:
        """End what there is, and leave nothing behind."""
        if self in _being_made:
            _being_made.remove(self)
        self._made.close()

    def _running(self) -> CbnNet:
        if self.net is None:
            raise NetworkError("the network is not built yet: say `net.build()` or `net.start()` before")
        return self.net

    def _plan(self) -> Plan:
        nodes = [TopoNode(node.name, node.role, options=node.params) for node in self._nodes]
        links = [TopoLink(link.intf1.node.name, link.intf2.node.name, link.options) for link in self._links]
        scenario = scenario_of("mininet", nodes, links, WHAT, {"record": {"captures": False}})
        return plan_of(scenario, WHAT)

    def _start(self, plan: Plan) -> None:
        if problems := machine_problems() or plan_problems(plan):
            raise NetworkError("; ".join(problems))
        run_id = f"mininet-{os.getpid()}-{next(_numbers)}"
        folder = Path(tempfile.mkdtemp(prefix=f"cbn-{run_id}-"))
        registration = register(run_id, folder)
        self._made.callback(registration.remove)
        registration.note(
            kind="run", scenario="mininet", started_ns=time.time_ns(), node_count=len(plan.nodes)
        )
        raise_descriptor_limit(plan)
        net = self.net = CbnNet(plan, registration, RunDirectory(folder, run_id))
        net.adopt(self._nodes, self._links)
        self._made.callback(self._end, net, folder)
        atexit.register(self.stop)
        self._made.callback(atexit.unregister, self.stop)
        net.build()
        net.start()
        net.await_converged()

    def _end(self, net: CbnNet, folder: Path) -> None:
        """What nodes wrote is kept if something went wrong."""
        problems = net.stop()
        net.watch.close()
        if problems:
            show_error(f"*** {'; '.join(problems)}; logs are in {folder}\n")
        else:
            shutil.rmtree(folder)

"""What can be asked of a running network over its control socket, and how it is done.

Here: requests into faults, changes and questions; every mistake becomes a reply
that says what is there instead. Not here: sockets (`control`), who serves them
and when (`keeper_run`), the terminal (`testbed.cli`).
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nodes.wire.packets import Role
from testbed.emu.admin import AdminError
from testbed.emu.commands import NetworkError
from testbed.emu.control import Caller, ControlError, Request
from testbed.emu.gauges import gauges
from testbed.emu.live import FaultError, Live
from testbed.emu.nodes import NotReadyError
from testbed.emu.processes import ProcessDiedError
from testbed.emu.streams import KEPT, Streams
from testbed.plan.link_change import NOTHING, Ways, changed, words
from testbed.plan.model import Fault, LinkPlan, NodePlan
from testbed.plan.problems import ScenarioError, did_you_mean
from testbed.runs.directory import RunDirectory
from topologies.fault_kinds import LINK_CONTROL, NODE_CONTROL

Command = Callable[[Caller, Request], object]


@dataclass(frozen=True, slots=True)
class Kept:
    """A network that is kept running."""

    name: str
    live: Live
    directory: RunDirectory
    since_ns: int
    """When it was ready."""
    apply: Callable[[Fault], None]
    """Lets a fault happen, and notes it among the run's events."""
    bury: Callable[[ProcessDiedError], None]
    """Notes that nodes have died that nobody told to; raises the error again if it was no node."""
    carriers: Mapping[str, str]
    """What carries each link: `veth`, `netem`, `wire`."""


class Hands:
    """Carries out what callers ask for."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._live = kept.live
        self._nodes = {node.name: node for node in kept.live.plan.nodes}
        self._links = {link.name: link for link in kept.live.plan.links}
        self._ways = {link.name: Ways(link.impairment, link.impairment_back) for link in kept.live.plan.links}
        self._commands: dict[str, Command] = {
            "status": self._status,
            "links": self._show_links,
            "link": self._link,
            "node": self._node,
            "fault": self._fault,
            "publish": self._publish,
            "subscribe": self._subscribe,
            "top": self._top,
            "down": self._down,
        }
        self.streams = Streams(kept.live, kept.live.unconverged)
        self.leaving: list[Caller] = []
        """Who has asked for the end, and waits for it."""

    def answer(self, caller: Caller, request: Request) -> object:
        """Do what a request asks for; returns the result.

        Raises:
            ControlError: it cannot be; the text says why.
        """
        command = self._commands.get(str(request["do"]))
        if command is None:
            what = did_you_mean(request["do"], self._commands)
            raise ControlError(
                f"unknown request {request['do']!r}; known are {', '.join(self._commands)}; {what}"
            )
        if self.leaving and command != self._down:
            raise ControlError("the network is being taken down")
        try:
            return self._carry_out(command, caller, request)
        except (FaultError, AdminError, NetworkError, NotReadyError) as error:
            raise ControlError(str(error)) from error
        except ScenarioError as error:
            raise ControlError("\n".join(str(problem) for problem in error.problems)) from error
        except (ControlError, ProcessDiedError):
            raise
        except OSError as error:  # the run's directory was removed, the disk is full: nobody's defect
            raise ControlError(f"{error.filename or self._kept.directory.path}: {error.strerror}") from error
        except Exception as defect:  # one command that fails must not cost the network
            traceback.print_exc()
            raise ControlError(f"a defect of the keeper ({defect!r}); its log has the traceback") from defect

    def _carry_out(self, command: Command, caller: Caller, request: Request) -> object:
        """Do it; if it comes out meanwhile that a node has died, do it with the others."""
        try:
            return command(caller, request)
        except ProcessDiedError as error:
            self._kept.bury(error)
            return command(caller, request)

    def _status(self, *_: object) -> object:
        plan, live = self._live.plan, self._live
        return {
            "run_id": self._kept.directory.run_id,
            "name": self._kept.name,
            "scenario": plan.name,
            "scheme": plan.scheme,
            "seed": plan.seed,
            "directory": str(self._kept.directory.path.resolve()),
            "since_ns": self._kept.since_ns,
            "now_ns": live.clock.now_ns(),
            "nodes": {node.name: self._about(node) for node in plan.nodes},
            "links": len(plan.links),
            "links_down": live.state.links_down,
            "subscribed": len(self.streams),
            "unconverged": live.unconverged(),
        }

    def _about(self, node: NodePlan) -> dict[str, object]:
        life = self._live.nodes.life[node.name]
        return {
            "role": node.role.name.lower(),
            "state": life.value,
            "pid": self._live.nodes.children[node.name].process.pid,
            "neighbours": [i.peer for i in node.interfaces],
        }

    def _show_links(self, *_: object) -> object:
        return {"links": [self._shown(link) for link in self._live.plan.links]}

    def _shown(self, link: LinkPlan) -> dict[str, object]:
        ways = self._ways[link.name]
        return {
            "name": link.name,
            "a": link.a,
            "b": link.b,
            "up": link.name not in self._live.state.links_down,
            "carrier": self._kept.carriers.get(link.name, ""),
            "there": words(ways.there),
            "back": words(ways.back),
        }

    def _link(self, _: Caller, request: Request) -> object:
        link, turned = self._find_link(_text(request, "link"))
        do = _text(request, "change")
        if do in LINK_CONTROL:
            self._kept.apply(Fault(self._now_ns(), LINK_CONTROL[do], link.name))
        elif do != "show":
            self._impair(link, self._wanted(link, turned, do, request))
        return self._shown(link)

    def _wanted(self, link: LinkPlan, turned: bool, do: str, request: Request) -> Ways:
        was = self._ways[link.name]
        match do:
            case "clear":
                return Ways(NOTHING, NOTHING)
            case "reset":
                return Ways(link.impairment, link.impairment_back)
            case "impair":
                told = request.get("to")
                if not isinstance(told, dict) or not told or not isinstance(told.get("back", {}), dict):
                    raise ControlError('expected "to", what the link is to do, such as {"delay": "30ms"}')
                made = changed(was.turned() if turned else was, told, f"link {link.name}")
                return made.turned() if turned else made
        raise ControlError('expected "change": down, up, impair, clear, reset or show')

    def _impair(self, link: LinkPlan, ways: Ways) -> None:
        fault = Fault(self._now_ns(), "impair", link.name, impairment=ways.there, back=ways.back)
        self._kept.apply(fault)
        self._ways[link.name] = ways

    def _node(self, _: Caller, request: Request) -> object:
        node = self._find_node(_text(request, "node"))
        about: dict[str, object] = {"name": node.name, **self._about(node)}
        if "ask" in request:
            do = _text(request, "ask")
            if do not in ("status", "tables"):
                raise ControlError('expected "ask": status or tables')
            about["answer"] = self._live.ask(node.name, do)
        return about

    def _fault(self, _: Caller, request: Request) -> object:
        node, do = self._find_node(_text(request, "node")), _text(request, "fault")
        if do not in NODE_CONTROL:
            raise ControlError(f'expected "fault": {", ".join(NODE_CONTROL)}')
        self._kept.apply(Fault(self._now_ns(), NODE_CONTROL[do], node.name))
        return {"name": node.name, **self._about(node)}

    def _publish(self, _: Caller, request: Request) -> object:
        client = self._find_client(_text(request, "client"))
        more = {"count": request["count"]} if "count" in request else {}
        said = self._live.ask(client.name, "publish", message=request.get("message"), **more)
        return {"client": client.name, **said}

    def _subscribe(self, caller: Caller, request: Request) -> object:
        client = self._find_client(_text(request, "client"))
        keep = request.get("keep", KEPT)
        return self.streams.open(caller, client.name, _text(request, "predicate"), keep)

    def _top(self, *_: object) -> object:
        times = {"now_ns": self._live.clock.now_ns(), "real_ns": time.monotonic_ns()}
        return {**times, "nodes": gauges(self._live), "links_down": self._live.state.links_down}

    def _down(self, caller: Caller, _: Request) -> object:
        self.leaving.append(caller)
        return {"directory": str(self._kept.directory.path.resolve())}

    def _now_ns(self) -> int:
        """The time of the scenario."""
        return max(0, self._live.clock.now_ns() - self._kept.since_ns)

    def _find_node(self, name: str) -> NodePlan:
        if name not in self._nodes:
            raise ControlError(f"there is no node {name}; {_which(name, self._nodes)}")
        return self._nodes[name]

    def _find_client(self, name: str) -> NodePlan:
        clients = [node.name for node in self._live.plan.clients]
        if name not in self._nodes:
            raise ControlError(f"there is no client {name}; {_which(name, clients)}")
        node = self._nodes[name]
        if node.role is Role.CLIENT:
            return node
        near = [i.peer for i in node.interfaces if i.peer in clients]
        who = f"clients attached to it: {', '.join(near)}" if near else f"clients: {_listed(clients)}"
        raise ControlError(f"{name} is a router; clients publish and subscribe; {who}")

    def _find_link(self, text: str) -> tuple[LinkPlan, bool]:
        """The link somebody means, by its name or its ends in either order; whether they are turned."""
        for link in self._links.values():
            for ends, turned in (((link.a, link.b), False), ((link.b, link.a), True)):
                if re.fullmatch(r" *-{1,2} *".join(map(re.escape, ends)), text.strip()):
                    return link, turned
        names = [f"{link.a}-{link.b}" for link in self._links.values()]
        known = names + [f"{link.b}-{link.a}" for link in self._links.values()]
        hint = did_you_mean(text, known)
        raise ControlError(f"there is no link {text}; {hint or f'links: {_listed(names)}'}")


def _text(request: Mapping[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise ControlError(f'expected "{key}", a text; got {value!r}')
    return value


def _which(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name, names) or f"there are {_listed(names)}"


def _listed(names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "none"

"""Live control: what can be asked of a running network over its control socket, and how it is done.

Here: requests into faults, changes and questions; every mistake becomes a reply
that says what is there instead. Not here: lines and sockets (`nodes.daemon.json_lines`),
who serves them and when (`supervised`), the terminal (`testbed.cli`). The
protocol is described in docs/hands-on.md.
"""

from __future__ import annotations

import re
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nodes.daemon.json_lines import Caller, Limits, Request, RequestError
from nodes.model import parse_message, parse_predicate
from nodes.policy import may_advertise, may_publish
from nodes.wire.packets import Role
from testbed.live.clients import AdminError
from testbed.live.fabric import (
    EndedProgram,
    FaultError,
    Life,
    NetworkError,
    NotReadyError,
    ProcessDiedError,
    ProcessRow,
)
from testbed.live.live import Live
from testbed.live.streams import KEPT, Streams
from testbed.plan.impairment import NOTHING, Ways, changed, words
from testbed.plan.model import Fault, LinkPlan, NodePlan
from testbed.plan.problems import ScenarioError, did_you_mean
from testbed.runs.directory import RunDirectory
from topologies.fault_kinds import LINK_CONTROL, NODE_CONTROL
from topologies.quantities import listed

LIMITS = Limits(request_bytes=60 * 1024, backlog_bytes=4 * 1024 * 1024, callers=64, mistakes=16)
"""A request is shorter than what a node takes, to which most are handed on."""
NAMES_SHOWN = 12
_COUNTERS = ("rx_messages", "tx_messages", "rx_control", "tx_control")

Row = dict[str, Any]
Command = Callable[[Caller, Request], object]


class Lender(Protocol):
    """Lets a caller's program take the place of a client (`cbn exec`)."""

    @property
    def lent(self) -> Iterable[str]:
        """The clients whose place a program has taken."""

    def config_of(self, name: str) -> Path:
        """The configuration that a client's program reads."""

    def lend(self, name: str) -> str:
        """Let a program take a client's place; returns the mark that it must have."""

    def take_back(self, name: str, status: int) -> EndedProgram:
        """That program has ended, with this status, or is ended now."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """A network that is left running."""

    name: str
    live: Live
    directory: RunDirectory
    since_ns: int
    """When it was ready."""
    apply: Callable[[Fault], None]
    """Lets a fault happen, and notes it among the run's events."""
    note: Callable[[Fault], None]
    """Notes a fault that has happened by itself."""
    note_deaths: Callable[[ProcessDiedError], None]
    """Notes that nodes have died without having been asked to; raises the error again if it was no node."""
    carriers: Mapping[str, str]
    """What carries each link: `veth`, `netem`, `wire`, `tunnel`."""
    lender: Lender


class Control:
    """Does what callers ask for."""

    def __init__(self, controlled: Controlled) -> None:
        self._controlled = controlled
        self._live = controlled.live
        self._nodes = {node.name: node for node in controlled.live.plan.nodes}
        self._links = {link.name: link for link in controlled.live.plan.links}
        self._ways = {
            link.name: Ways(link.impairment, link.impairment_back) for link in controlled.live.plan.links
        }
        self._commands: dict[str, Command] = {
            "status": self._status,
            "links": self._show_links,
            "link": self._link,
            "node": self._node,
            "fault": self._fault,
            "publish": self._publish,
            "subscribe": self._subscribe,
            "advertise": self._advertise,
            "unadvertise": self._unadvertise,
            "exec": self._exec,
            "exec_ended": self._exec_ended,
            "top": self._top,
            "down": self._down,
        }
        self.streams = Streams(controlled.live, controlled.live.unconverged)
        self.leaving: list[Caller] = []
        """Who has asked for the end, and waits for it."""

    def answer(self, caller: Caller, request: Request) -> object:
        """Do what a request asks for; returns the result.

        Raises:
            RequestError: it cannot be; the text says why.
        """
        command = self._commands.get(str(request["do"]))
        if command is None:
            what = did_you_mean(request["do"], self._commands)
            raise RequestError(
                f"unknown request {request['do']!r}; known are {', '.join(self._commands)}; {what}"
            )
        if self.leaving and command != self._down:
            raise RequestError("the network is being taken down")
        try:
            return self._execute(command, caller, request)
        except (FaultError, AdminError, NetworkError, NotReadyError) as error:
            raise RequestError(str(error)) from error
        except ScenarioError as error:
            raise RequestError("\n".join(str(problem) for problem in error.problems)) from error
        except (RequestError, ProcessDiedError):
            raise
        except OSError as error:  # the run's directory was removed, the disk is full: nobody's defect
            raise RequestError(
                f"{error.filename or self._controlled.directory.path}: {error.strerror}"
            ) from error
        except Exception as defect:  # one command that fails must not cost the network
            traceback.print_exc()
            raise RequestError(
                f"a defect of the supervisor ({defect!r}); its log has the traceback"
            ) from defect

    def _execute(self, command: Command, caller: Caller, request: Request) -> object:
        """Do it; if it comes out meanwhile that a node has died, do it with the others."""
        try:
            return command(caller, request)
        except ProcessDiedError as error:
            self._controlled.note_deaths(error)
            return command(caller, request)

    def _status(self, *_: object) -> object:
        plan, live = self._live.plan, self._live
        rows = live.nodes.processes()
        return {
            "run_id": self._controlled.directory.run_id,
            "name": self._controlled.name,
            "scenario": plan.name,
            "scheme": plan.scheme,
            "seed": plan.seed,
            "directory": str(self._controlled.directory.path.resolve()),
            "since_ns": self._controlled.since_ns,
            "now_ns": live.clock.now_ns(),
            "nodes": {node.name: self._about(node, rows) for node in plan.nodes},
            "links": len(plan.links),
            "links_down": live.state.links_down,
            "subscribed": len(self.streams),
            "unconverged": live.unconverged(),
        }

    def _about(self, node: NodePlan, rows: Mapping[str, ProcessRow] | None = None) -> dict[str, object]:
        row = (self._live.nodes.processes() if rows is None else rows).get(node.name)
        return {
            "role": node.role.name.lower(),
            "state": self._live.nodes.life[node.name].value,
            "pid": row["pid"] if row is not None else None,
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
            "carrier": self._controlled.carriers.get(link.name, ""),
            "key": self._live.key_number(link),
            "there": words(ways.there),
            "back": words(ways.back),
        }

    def _link(self, _: Caller, request: Request) -> object:
        link, turned = self._find_link(_text(request, "link"))
        do = _text(request, "change")
        if do in LINK_CONTROL:
            self._controlled.apply(Fault(self._now_ns(), LINK_CONTROL[do], link.name))
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
                spec = request.get("to")
                if not isinstance(spec, dict) or not spec or not isinstance(spec.get("back", {}), dict):
                    raise RequestError('expected "to", what the link is to do, such as {"delay": "30ms"}')
                made = changed(was.turned() if turned else was, spec, f"link {link.name}")
                return made.turned() if turned else made
        raise RequestError(f'expected "change": {", ".join(LINK_CONTROL)}, impair, clear, reset or show')

    def _impair(self, link: LinkPlan, ways: Ways) -> None:
        fault = Fault(self._now_ns(), "impair", link.name, impairment=ways.there, back=ways.back)
        self._controlled.apply(fault)
        self._ways[link.name] = ways

    def _node(self, _: Caller, request: Request) -> object:
        node = self._find_node(_text(request, "node"))
        about: dict[str, object] = {"name": node.name, **self._about(node)}
        if "ask" in request:
            do = _text(request, "ask")
            if do not in ("status", "tables"):
                raise RequestError('expected "ask": status or tables')
            about["answer"] = self._live.ask(node.name, do)
        return about

    def _fault(self, _: Caller, request: Request) -> object:
        node, do = self._find_node(_text(request, "node")), _text(request, "fault")
        if do not in NODE_CONTROL:
            raise RequestError(f'expected "fault": {", ".join(NODE_CONTROL)}')
        self._controlled.apply(Fault(self._now_ns(), NODE_CONTROL[do], node.name))
        return {"name": node.name, **self._about(node)}

    def _publish(self, _: Caller, request: Request) -> object:
        client = self._find_client(_text(request, "client"))
        more = {"count": request["count"]} if "count" in request else {}
        text = _text(request, "message")
        said = self._live.ask(client.name, "publish", message=text, **more)
        permitted = client.policy is None or may_publish(client.policy, parse_message(text))
        return {"client": client.name, **said, "required": self._must_advertise, "permitted": permitted}

    def _subscribe(self, caller: Caller, request: Request) -> object:
        client = self._find_client(_text(request, "client"))
        keep = request.get("keep", KEPT)
        what = "pattern" if "pattern" in request else "predicate"
        return self.streams.open(caller, client.name, {what: _text(request, what)}, keep)

    def _advertise(self, _: Caller, request: Request) -> object:
        client = self._find_client(_text(request, "client"))
        text = _text(request, "predicate")
        made = self._live.ask(client.name, "advertise", predicate=text)
        permitted = client.policy is None or may_advertise(client.policy, parse_predicate(text))
        return {"client": client.name, **made, "required": self._must_advertise, "permitted": permitted}

    def _unadvertise(self, _: Caller, request: Request) -> object:
        client = self._find_client(_text(request, "client"))
        number = request.get("advertisement")
        withdrawn = self._live.ask(client.name, "unadvertise", advertisement=number)
        return {"client": client.name, **withdrawn, "required": self._must_advertise}

    @property
    def _must_advertise(self) -> bool:
        """Whether advertisements have any effect."""
        return bool(self._live.plan.scheme_options.get("advertisements"))

    def _exec(self, caller: Caller, request: Request) -> object:
        """A program of the caller takes a client's place, until it has ended or the caller goes."""
        client = self._find_client(_text(request, "client"))
        nodes, lender = self._live.nodes, self._controlled.lender
        nodes.starting()
        if nodes.life[client.name] not in (Life.RUNNING, Life.WAITING, Life.ENDED):
            raise RequestError(f"{client.name} is {nodes.life[client.name].value}")
        mark = lender.lend(client.name)
        caller.at_close.append(lambda: self._caller_has_gone(client.name))
        return {"client": client.name, "mark": mark, "config": str(lender.config_of(client.name))}

    def _exec_ended(self, _: Caller, request: Request) -> object:
        name, status = _text(request, "client"), request.get("status")
        if not isinstance(status, int):
            raise RequestError(f'expected "status", the exit status of the program; got {status!r}')
        self._take_back(name, status)
        return {}

    def _caller_has_gone(self, name: str) -> None:
        """Nobody is there to be told what goes wrong: the supervisor's log is."""
        try:
            self._take_back(name, -signal.SIGKILL)
        except (AdminError, ProcessDiedError) as error:
            print(f"{name} has not come back from its program: {error}", flush=True)

    def _take_back(self, name: str, status: int) -> None:
        lender = self._controlled.lender
        if name in lender.lent:
            ended = lender.take_back(name, status)
            if ended.abrupt and name in self._live.nodes.programs:
                self._controlled.note(Fault(self._now_ns(), "crash", name))

    def _top(self, *_: object) -> object:
        times = {"now_ns": self._live.clock.now_ns(), "real_ns": time.monotonic_ns()}
        return {**times, "nodes": gauges(self._live), "links_down": self._live.state.links_down}

    def _down(self, caller: Caller, _: Request) -> object:
        self.leaving.append(caller)
        return {"directory": str(self._controlled.directory.path.resolve())}

    def _now_ns(self) -> int:
        """The time of the scenario."""
        return max(0, self._live.clock.now_ns() - self._controlled.since_ns)

    def _find_node(self, name: str) -> NodePlan:
        if name not in self._nodes:
            raise RequestError(f"there is no node {name}; {_which(name, self._nodes)}")
        return self._nodes[name]

    def _find_client(self, name: str) -> NodePlan:
        clients = [node.name for node in self._live.plan.clients]
        if name not in self._nodes:
            raise RequestError(f"there is no client {name}; {_which(name, clients)}")
        node = self._nodes[name]
        if node.role is Role.CLIENT:
            return node
        near = [i.peer for i in node.interfaces if i.peer in clients]
        who = f"clients attached to it: {', '.join(near)}" if near else f"clients: {_some(clients)}"
        raise RequestError(f"{name} is a router; clients publish and subscribe; {who}")

    def _find_link(self, text: str) -> tuple[LinkPlan, bool]:
        """The link somebody means, by its name or its ends in either order; whether they are turned."""
        for link in self._links.values():
            for ends, turned in (((link.a, link.b), False), ((link.b, link.a), True)):
                if re.fullmatch(r" *-{1,2} *".join(map(re.escape, ends)), text.strip()):
                    return link, turned
        names = [f"{link.a}-{link.b}" for link in self._links.values()]
        known = names + [f"{link.b}-{link.a}" for link in self._links.values()]
        hint = did_you_mean(text, known)
        raise RequestError(f"there is no link {text}; {hint or f'links: {_some(names)}'}")


def _text(request: Mapping[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise RequestError(f'expected "{key}", a text; got {value!r}')
    return value


def _which(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name, names) or f"there are {_some(names)}"


def _some(names: list[str]) -> str:
    return listed(names, NAMES_SHOWN) or "none"


def gauges(live: Live) -> dict[str, Row]:
    """One row a node, in order of node id."""
    statuses, processes = live.statuses(), live.nodes.processes()
    roles = {node.name: node.role for node in live.plan.nodes}
    rows = {}
    for node in live.plan.nodes:
        row: Row = {"role": node.role.name.lower(), "state": live.nodes.life[node.name].value}
        if node.name in processes:
            row |= {key: processes[node.name][key] for key in ("cpu_s", "resident_bytes")}
        rows[node.name] = row | _counted(live, node, statuses.get(node.name), roles)
    return rows


def _counted(live: Live, node: NodePlan, status: Mapping[str, Any] | None, roles: Mapping[str, Role]) -> Row:
    """What a node itself has counted; nothing if it does not answer."""
    if status is None:
        return {}
    interfaces = status["interfaces"]
    row: Row = {name: sum(i[name] for i in interfaces) for name in _COUNTERS}
    row["drops"] = sum(sum(kinds.values()) for kinds in status["drops"].values())
    row["overflows"] = sum(i["rx_overflows"] for i in interfaces)
    row["settled"] = status["core"]["settled"]
    if node.role is Role.ROUTER:
        return row | _router_row(node, status, roles)
    return row | _client_row(live, node, status["core"])


def _router_row(node: NodePlan, status: Mapping[str, Any], roles: Mapping[str, Role]) -> Row:
    core, fib = status["core"], status["core"]["fib"] or {}
    to_clients = {i.name for i in node.interfaces if roles[i.peer] is Role.CLIENT}
    return {
        "delivered": sum(i["tx_messages"] for i in status["interfaces"] if i["name"] in to_clients),
        "neighbours": len(core["adjacencies"]),
        "neighbours_up": sum(a["state"] == "up" for a in core["adjacencies"]),
        "filters": fib.get("filters"),
        "classes": fib.get("classes"),
        "table_bytes": fib.get("bytes"),
    }


def _client_row(live: Live, node: NodePlan, core: Mapping[str, Any]) -> Row:
    latency = live.ask(node.name, "latency")
    return {
        "delivered": core["delivered"],
        "published": core["published"],
        "subscriptions": core["subscriptions"],
        "neighbours": 1,
        "neighbours_up": int(core["attached"]),
        "latency_p50_ns": latency["p50_ns"],
        "latency_p99_ns": latency["p99_ns"],
    }

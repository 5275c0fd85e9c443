"""Mininet hosts that are nodes of a content-based network: `CbnRouter` and `CbnClient`.

Each has a namespace, interfaces with the addresses that its network's plan gives, and a
process `python -m nodes`. They work wherever Mininet takes a class of hosts: in a run
(`testbed.emu.network`), in a script (`Mininet(host=CbnRouter, link=WireLink)`), with
`mn --custom`. A router may also stand where Mininet takes a switch.

What many nodes need is made for all at once by their network; a node is a handle on its
own part. A host gets its shell with the first command that somebody gives it: a hundred
shells that nobody talks to would take most of the time, and the machine's pseudo-terminals.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from mininet.node import Host

from testbed.emu.links.link import PlannedIntf
from testbed.live.fabric import NetworkError
from testbed.plan.mininet_topo import CLIENT, ROUTER

if TYPE_CHECKING:
    from testbed.emu.network import CbnNet
    from testbed.emu.script_network import ScriptNetwork

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")
CONVERGED_TIMEOUT_S = 30.0
POLL_S = 0.02


class NamespaceHost(Host):  # type: ignore[misc]
    """A host in the namespace of another process; its shell starts with its first command."""

    holder: int | None = None
    """The process that holds the namespace."""
    environment: Mapping[str, str] = {}
    """Of what it starts: the run's marks."""

    def enter(self, holder: int, environment: Mapping[str, str]) -> None:
        """From now on commands run in the namespace of this process."""
        self.holder, self.environment = holder, environment

    @property
    def pid(self) -> int | None:
        """The process that holds the namespace, as Mininet wants to know it.

        Raises:
            NetworkError: there is none yet.
        """
        if self.holder is None:
            raise NetworkError(
                f"{self.name} has no namespace before its network is built; links between nodes are "
                "made by VethLink, NetemLink or WireLink: say `link=WireLink`"
            )
        return self.holder

    @pid.setter
    def pid(self, value: int | None) -> None:
        """Mininet sets it to its shell's, which is not what we hold on to."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: ARG002, N802 - Mininet's names
        """Not yet: see `sendCmd`."""
        self.waiting = False

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802 - Mininet's name
        """As Mininet's; the first command starts the shell."""
        if self.shell is None:
            self._start_shell()
        super().sendCmd(*args, **kwargs)

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """As Mininet's, which takes a host without a shell for one that has exited."""
        if self.shell is None:
            self._start_shell()
        return super().cmd(*args, **kwargs)

    def end_shell(self) -> None:
        """End the shell, if there is one; the namespace stays."""
        super().terminate()

    def _start_shell(self) -> None:
        """Mininet's own way, but into the namespace that is there."""
        self.inNamespace = False
        super().startShell(f"-cda{self.pid}")
        self.inNamespace = True

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        """What a host starts carries the run's marks and dies with the run."""
        params.setdefault("env", self.environment)
        return super()._popen([*DIE_WITH_PARENT, *cmd], **params)  # type: ignore[no-any-return]


class CbnNode(NamespaceHost):
    """A router or a client.

    Options of `addHost` besides Mininet's: `scheme` and `seed` (of the whole network, so all
    that are given must agree), and of clients `subscribe` and `publish`, as in scenarios.
    """

    role: ClassVar[str]
    """What a plan makes of it."""

    def __init__(self, name: str, network: CbnNet | None = None, **params: Any) -> None:
        from testbed.emu.script_network import network_being_made

        super().__init__(name, **{**params, "inNamespace": True})
        self.network: CbnNet | ScriptNetwork = network_being_made() if network is None else network
        self.network.add(self)

    def addIntf(self, intf: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N802 - Mininet's name
        """As Mininet's; the interfaces of a node are made with all others of its network."""
        if not isinstance(intf, PlannedIntf):
            raise NetworkError(
                f"{self.name}: links between nodes are made by VethLink, NetemLink or WireLink, "
                "such as `link=WireLink`"
            )
        super().addIntf(intf, *args, **kwargs)

    def configDefault(self, **params: Any) -> None:  # noqa: ARG002, N802 - Mininet's name
        """Mininet's moment for addresses: the network is built, and its nodes start."""
        self.network.configured()

    def start(self, controllers: Sequence[Any] = ()) -> None:  # noqa: ARG002
        """Mininet's moment for switches."""
        self.network.configured()

    def stop(self, deleteIntfs: bool = False) -> None:  # noqa: N803 - Mininet's name
        """Mininet's moment for switches, before `terminate`."""

    def terminate(self) -> None:
        """End the node and its shell; the namespaces go with the last node of the network."""
        self.end_shell()
        self.network.leave(self)

    def ask(self, do: str, **arguments: object) -> Any:
        """Make a request of the node's process, as over its admin socket; returns its result."""
        return self.network.ask(self.name, do, **arguments)

    def status(self) -> dict[str, Any]:
        """Its own account: protocol state, counters per interface, drops by reason."""
        return dict(self.ask("status"))

    def wait_until_converged(self, seconds: float = CONVERGED_TIMEOUT_S) -> None:
        """Wait until the network agrees with itself again.

        Raises:
            NetworkError: it does not in time; the text says why.
        """
        deadline = time.monotonic() + seconds
        while reasons := self.network.unconverged():
            if time.monotonic() > deadline:
                raise NetworkError(f"the network has not converged in {seconds:g} s: {'; '.join(reasons)}")
            time.sleep(POLL_S)

    def pause(self) -> None:
        """Suspend the node's process."""
        self.network.fault("pause", self.name)

    def resume(self) -> None:
        """Let it go on."""
        self.network.fault("resume", self.name)


class CbnRouter(CbnNode):
    """A router."""

    role = ROUTER

    def connected(self) -> bool:
        """As a switch: whether it is ready."""
        return True

    def tables(self) -> dict[str, Any]:
        """What it knows and forwards by."""
        return dict(self.ask("tables"))

    def crash(self) -> None:
        """End the process, with the loss of all it knew."""
        self.network.fault("crash", self.name)

    def restart(self) -> None:
        """Start it anew after a crash."""
        self.network.fault("start", self.name)


class CbnClient(CbnNode):
    """A client: it publishes messages and subscribes to predicates."""

    role = CLIENT

    def publish(self, message: str, count: int = 1) -> dict[str, Any]:
        """Publish a message such as `dest = "ORD", price = 350`, so many times; the last one's number."""
        return dict(self.ask("publish", message=message, count=count))

    def subscribe(self, predicate: str) -> int:
        """Subscribe to a predicate such as `price < 400`, and wait until the whole network knows of it.

        Raises:
            NetworkError: it does not in time.
        """
        subscription = self.ask("subscribe", predicate=predicate)["subscription"]
        self.wait_until_converged()
        return int(subscription)

    def unsubscribe(self, subscription: int) -> None:
        """Withdraw a subscription."""
        self.ask("unsubscribe", subscription=subscription)

    def deliveries(self, subscription: int, count: int = 1, seconds: float = 5.0) -> list[dict[str, Any]]:
        """What was delivered since the last call: waits for so many, but no longer than that."""
        found: list[dict[str, Any]] = []
        deadline = time.monotonic() + seconds
        while True:
            found += self.ask("deliveries", subscription=subscription)["deliveries"]
            if len(found) >= count or time.monotonic() > deadline:
                return found
            time.sleep(POLL_S)

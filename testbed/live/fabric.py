"""What deciding asks of a network that was made: its links, its node processes.

`emu` makes one on this machine. Whatever else offers these is conducted by the same code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypedDict

from nodes.config import LinkKey
from testbed.plan.model import Fault, Impairment, LinkPlan

Status = Mapping[str, Any]
"""What a node says of itself."""

POLL_S = 0.02


class ProcessDiedError(RuntimeError):
    """A process that was to run on has ended."""


class NetworkError(RuntimeError):
    """The network could not be built, or changed, as planned."""


class FaultError(RuntimeError):
    """A fault cannot be applied to the network as it is; the text says why."""


class NotReadyError(RuntimeError):
    """The network did not come to rest in the time the plan gives it."""


class Life(Enum):
    """Whether a node's process is there, and goes."""

    STARTING = "starting"
    """It does not answer yet."""
    RUNNING = "running"
    PAUSED = "paused"
    CRASHED = "crashed"
    WAITING = "waiting"
    """It is a program that has not been started yet."""
    PROGRAM = "running its program"
    """A program runs, which is asked nothing."""
    LENT = "lent to a program"
    """`cbn exec` runs a program in its place."""
    ENDED = "ended"
    """Its program has ended by itself."""


GONE = (Life.CRASHED, Life.WAITING, Life.ENDED)
"""There is no process."""


class ProcessRow(TypedDict):
    """What a node's process takes of its machine."""

    pid: int
    cpu_s: float | None
    """None: it has ended, as for memory."""
    resident_bytes: int | None


class Links(Protocol):
    """The links of a network."""

    def take_down(self, link: LinkPlan) -> None:
        """Carry nothing any more over a link; what is on its way is lost."""

    def bring_up(self, link: LinkPlan) -> None:
        """Carry again, as impaired as before."""

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """From now on the link does this to packets, from `a` to `b` and back. Raises `NetworkError`."""


class Attackers(Protocol):
    """Who attacks links; any call may raise `ProcessDiedError`."""

    @property
    def going(self) -> bool:
        """Whether an attack goes on, as far as is known."""

    def begin(self, fault: Fault) -> None:
        """Let an attack begin, now."""

    def ended(self) -> list[tuple[Fault, int]]:
        """The attacks that have ended since this was asked before, and how many acts they had."""


class EndedProgram(Protocol):
    """A program that has ended by itself."""

    @property
    def name(self) -> str:
        """The client that it was."""

    @property
    def abrupt(self) -> bool:
        """Whether its subscriptions are still held, as those of a node that has crashed."""

    @property
    def said(self) -> str:
        """What went wrong, for people; often nothing."""

    @property
    def at_ns(self) -> int | None:
        """When, on the run's clock, if that is known."""


class Programs(Protocol):
    """The clients that are programs."""

    @property
    def names(self) -> Sequence[str]:
        """All of them."""

    @property
    def going(self) -> object:
        """Those that run; as a truth value, whether any does."""

    def __contains__(self, name: str) -> bool:
        """Whether a client is one."""

    def statuses(self) -> Mapping[str, Status]:
        """What is known of those that run."""

    def ended(self) -> Iterator[EndedProgram]:
        """Those that have ended since this was asked before."""


class Watch(Protocol):
    """Notices deaths."""

    def wait(self, seconds: float) -> None:
        """Wait that long. Raises `ProcessDiedError` if a process ends that was not to."""


class Nodes(Protocol):
    """The node processes of a network; any call may raise `ProcessDiedError`."""

    @property
    def life(self) -> dict[str, Life]:
        """How each node is."""

    @property
    def programs(self) -> Programs:
        """Those that are programs."""

    @property
    def watch(self) -> Watch:
        """What notices deaths."""

    @property
    def running(self) -> list[str]:
        """The nodes that answer and are not paused, in order of id."""

    def starting(self) -> list[str]:
        """The nodes that were started and do not answer yet."""

    def await_listening(self, deadline: float) -> None:
        """Wait until every node answers, until then by `time.monotonic`. Raises `NotReadyError`."""

    def statuses(self) -> dict[str, Status]:
        """The account of itself of every node that runs, asked for now."""

    def client_statuses(self) -> dict[str, Status]:
        """Those of the clients alone."""

    def unsettled(self) -> list[str]:
        """The routers that have something under way."""

    def ask(self, name: str, do: str, **arguments: object) -> Any:
        """Ask a node. Raises `AdminError` if it refuses."""

    def processes(self) -> Mapping[str, ProcessRow]:
        """What the processes take of those that have one."""

    def deaths(self) -> Mapping[str, str]:
        """The nodes that have ended without having been asked to, each with how, for people."""

    def check(self) -> None:
        """Raise `ProcessDiedError` if something has ended that was not to, asking far away too."""

    def pause(self, seconds: float = POLL_S) -> None:
        """Wait between two polls: so long that polling takes a tenth of the time at most."""

    def rest_s(self, seconds: float) -> float:
        """That long, but so long at least that polling takes a tenth of the time at most."""

    def start_scripts(self, start_ns: int) -> list[str]:
        """Tell all clients when time zero is; the names of those that heard it too late."""

    def start_programs(self) -> None:
        """Start the clients that are programs."""

    def end_programs(self) -> list[str]:
        """End those of them that still run; what went wrong, for people."""

    def give_key(self, link: LinkPlan, key: LinkKey, *, used: bool) -> None:
        """Both ends of a link take a key besides, or use it and no other (`used`).

        Who does not run takes it when it runs again.
        """

    def give_signer(self, name: str, public: bytes, seed: bytes) -> None:
        """A router that does not run signs with another key when it runs again; all others are told now.

        Args:
            name: Of the router.
            public: The half of its key that all know.
            seed: What the key is made of, which the router alone may know.
        """

    def crash(self, name: str) -> None:
        """End a node here and now, with the loss of all it knew."""

    def restart(self, name: str) -> None:
        """Start what has crashed anew."""

    def hold(self, name: str) -> None:
        """Let a node stand still."""

    def resume(self, name: str) -> None:
        """Let it go on."""

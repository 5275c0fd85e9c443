"""Attacks on links in the emulated world, from the run's side: the process `attacking` carries them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nodes.records import to_plain
from testbed.emu.attacking import AttackedLink, End, Orders
from testbed.emu.children import Child, Watch, start_helper
from testbed.plan.model import Fault, LinkPlan, Plan
from testbed.runs.directory import RunDirectory

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


@dataclass(slots=True)
class Attackers:
    """Starts the process if the plan has attacks on links, and asks it."""

    plan: Plan
    directory: RunDirectory
    dilate: int = 1
    dilate_from_ns: int = 0
    child: Child | None = None
    _going: dict[int, Fault] = field(default_factory=dict)
    _count: int = 0

    @property
    def links(self) -> list[LinkPlan]:
        """Those that are to be attacked, of those that have both ends here."""
        names = {fault.target for fault in self.plan.faults if fault.attack is not None}
        here = {node.name for node in self.plan.nodes}
        return [link for link in self.plan.links if link.name in names and {link.a, link.b} <= here]

    def start(self, pid_of: Callable[[str], int], environment: Mapping[str, str], watch: Watch) -> None:
        """Start the process, and wait until it hears the links.

        Raises:
            ProcessDiedError: it cannot.
        """
        links = [
            AttackedLink(
                link.name, End(pid_of(link.a), link.a_interface), End(pid_of(link.b), link.b_interface)
            )
            for link in self.links
        ]
        orders = Orders(tuple(links), self.dilate, self.dilate_from_ns)
        self.directory.write_json("config/attacks.json", to_plain(orders))
        self.child = start_helper(
            "the process that attacks links",
            "testbed.emu.attacking",
            [str((self.directory.config / "attacks.json").resolve())],
            environment,
            self.directory.logs / "attacks.stderr",
        )
        watch.add(self.child)
        self.child.ready(READY_TIMEOUT_S)

    @property
    def going(self) -> bool:
        """Whether an attack goes on, as far as is known."""
        return bool(self._going)

    def begin(self, fault: Fault) -> None:
        """Let an attack begin, now.

        Raises:
            ProcessDiedError: the process has ended.
        """
        assert self.child is not None
        self._count += 1
        self._going[self._count] = fault
        seed = f"{self.plan.seed}/attack/{self._count}/{fault.do}/{fault.target}"
        about = {"number": self._count, "link": fault.target, "what": fault.do, "seed": seed}
        self.child.ask("begin", READY_TIMEOUT_S, **about, attack=to_plain(fault.attack))

    def ended(self) -> list[tuple[Fault, int]]:
        """The attacks that have ended since this was asked before, and how many acts they had.

        Raises:
            ProcessDiedError: the process has ended.
        """
        if self.child is None or not self._going:
            return []
        ended = self.child.ask("look", READY_TIMEOUT_S)
        return [(self._going.pop(int(each["number"])), int(each["acts"])) for each in ended]

    def stop(self) -> list[str]:
        """End the process; what went wrong, for people."""
        return self.child.stop(STOP_TIMEOUT_S) if self.child is not None else []

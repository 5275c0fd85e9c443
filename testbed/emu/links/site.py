"""Where a run's links are made: the namespaces, the plan's names, and the run's folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from testbed.emu.links.base import PidOf
from testbed.emu.links.namespaces import interface_counts
from testbed.plan.model import InterfacePlan, LinkPlan, Plan


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link, as it is to be made."""

    node: str
    interface: InterfacePlan
    mtu: int

    @property
    def name(self) -> str:
        """The interface's."""
        return self.interface.name


@dataclass(frozen=True)
class Site:
    """What a carrier of links needs to know of its run."""

    plan: Plan
    pid_of: PidOf
    inside: Callable[[str], Sequence[str]]
    """What to put before a command to run it in a node's namespace."""
    environment: Mapping[str, str]
    """Of processes that belong to the run: its marks."""
    config: Path
    """Folder for what processes are told."""
    logs: Path
    dilate: int = 1

    @cached_property
    def _interfaces(self) -> Mapping[str, InterfacePlan]:
        return {i.name: i for node in self.plan.nodes for i in node.interfaces}

    def ends(self, link: LinkPlan) -> tuple[End, End]:
        """`a`, `b`."""
        return (
            End(link.a, self._interfaces[link.a_interface], link.mtu),
            End(link.b, self._interfaces[link.b_interface], link.mtu),
        )

    def counts(self, links: Sequence[LinkPlan]) -> dict[str, dict[str, int]]:
        """What the kernel counted at every end of these links, by the interface's name."""
        nodes = dict.fromkeys(node for link in links for node in (link.a, link.b))
        found: dict[str, dict[str, int]] = {}
        for node in nodes:
            found |= interface_counts(self.pid_of(node), f"the namespace of {node}")
        return found

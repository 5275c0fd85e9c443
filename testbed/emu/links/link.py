"""Mininet links whose interfaces this project makes, names and impairs; what all kinds have in common.

Three things can carry a link. `VethLink`: a bare pair, as fast as the machine, which
does nothing to packets. `NetemLink`: a pair with the kernel's queueing disciplines.
`WireLink`: a tap device at each end and the project's own process between them.
A run chooses for each link (`choice`); what was chosen stands in the manifest.
What cannot be applied raises `NetworkError`: it is never left out.

Between nodes of this project (`testbed.emu.hosts`) a link is made together with all
others of its network, under the plan's names. Between other Mininet hosts it is made
at once, as Mininet's own links are: then `delay`, `bw` and the like hold from the start.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from mininet.link import Intf, Link

from nodes.daemon.kernel import interface_counts
from nodes.processes import OWNER_MARK, RUN_MARK, Owner
from testbed.emu.links.cable import Cable, End
from testbed.live.fabric import NetworkError
from testbed.plan.mininet_topo import impairment_of
from testbed.plan.model import Impairment
from testbed.runs.measures import LinkMeasure


@dataclass(frozen=True)
class Place:
    """What links need to know of the run that they are made in."""

    environment: Mapping[str, str]
    """Of processes that belong to the run: its marks."""
    config: Path
    """Folder for what processes read."""
    logs: Path
    seed: int = 1
    dilate: int = 1

    @classmethod
    def of_this_process(cls) -> Place:
        """For links that belong to no run of ours: what they start ends with this process."""
        folder = Path(tempfile.mkdtemp(prefix="cbn-link-"))
        marks = {RUN_MARK: f"links-{os.getpid()}", OWNER_MARK: str(Owner.this_process())}
        return cls({**os.environ, **marks}, folder, folder)


class PlannedIntf(Intf):  # type: ignore[misc]
    """An interface that is made, addressed and set up with all others of its network."""

    def config(self, **_: Any) -> dict[str, Any]:
        """Nothing is run: see `assign`."""
        return {}

    def assign(self, name: str, mac: str, address: str, prefix_length: int) -> None:
        """What the plan calls it, and gives it."""
        self.node.nameToIntf.pop(self.name, None)
        self.node.nameToIntf[name] = self
        self.name: str = name
        self.mac, self.ip, self.prefixLen = mac, address, prefix_length


class CbnLink(Link):  # type: ignore[misc]
    """A link of any kind."""

    carrier: ClassVar[str]
    """`veth`, `netem` or `wire`."""

    def __init__(self, node1: Any, node2: Any, **options: Any) -> None:
        self.options = options
        """What Mininet's users say of it: `bw`, `delay`, `loss`, ..."""
        self.cable: Cable | None = None
        """Known once it is made."""
        self.place: Place | None = None
        self._ended = False
        networks = {getattr(node, "network", None) for node in (node1, node2)}
        if len(networks) > 1:
            raise NetworkError(
                f"link {node1.name} - {node2.name}: its ends are not nodes of one network (CbnRouter or "
                "CbnClient), made before that network was built"
            )
        self.network = networks.pop()
        words = {"intf", "port1", "port2", "intfName1", "intfName2", "addr1", "addr2"}
        for_mininet = {key: value for key, value in options.items() if key in words}
        if self.network is not None:
            for_mininet["intf"] = PlannedIntf
        super().__init__(node1, node2, **for_mininet)
        if self.network is not None:
            self.network.add(self)

    def makeIntfPair(self, *ends: Any, **_: Any) -> None:  # noqa: N802 - Mininet's name
        """Make both interfaces now, unless the network makes them with all others."""
        if self.network is not None:
            return
        name1, name2, mac1, mac2, node1, node2 = ends
        does = impairment_of(self.options, f"link {node1.name}--{node2.name}")
        a, b = End(node1.pid, name1, mac1), End(node2.pid, name2, mac2)
        mtu = int(self.options.get("mtu", 1500))
        self.make_all([(self, Cable(f"{node1.name}--{node2.name}", a, b, mtu, does, does))], _own_place())

    @classmethod
    def make_all(cls, links: Sequence[tuple[Self, Cable]], place: Place) -> None:
        """Make many links of this kind at once; the interfaces are left down, the impairments in force.

        Raises:
            NetworkError: something cannot be made, or applied.
        """
        for link, cable in links:
            link.cable, link.place = cable, place
        cls.carry([link for link, _ in links], place)

    @classmethod
    def carry(cls, links: Sequence[Self], place: Place) -> None:
        """See `make_all`."""
        raise NotImplementedError

    def impair(self, impairment: Impairment, back: Impairment) -> None:
        """From now on do this to packets, from `a` to `b` and back; what is on its way stays.

        Raises:
            NetworkError: it cannot be applied.
        """
        raise NotImplementedError

    def take_down(self) -> None:
        """Carry nothing any more, either way; what is on its way is lost."""
        raise NotImplementedError

    def bring_up(self) -> None:
        """Carry again, as impaired as before."""
        raise NotImplementedError

    @classmethod
    def count_lateness_anew(cls, links: Sequence[Self]) -> None:
        """Forget the lateness measured so far, since the workload begins; only wires measure it."""

    @classmethod
    def measures(cls, links: Sequence[Self]) -> list[LinkMeasure]:
        """What was delivered so far: two entries a link, from `a` and from `b`."""
        raise NotImplementedError

    def stop(self) -> None:
        """Take the link away; that of a network goes with its namespaces."""
        if self.network is None and not self._ended:
            self._ended = True
            self.end()
            self.delete()

    def end(self) -> None:
        """End what carries this link alone."""

    def made(self) -> tuple[Cable, Place]:
        """What was made, and where."""
        assert self.cable is not None, "the link is not made yet"
        assert self.place is not None
        return self.cable, self.place


def inside(end: End) -> list[str]:
    """What to put before a command to run it where an interface is."""
    return ["mnexec", "-a", str(end.pid)]


def counts_of(cables: Sequence[Cable]) -> dict[tuple[int, str], dict[str, int]]:
    """What the kernel counted at every end of these links, by process and interface."""
    found: dict[tuple[int, str], dict[str, int]] = {}
    for pid in dict.fromkeys(end.pid for cable in cables for end in (cable.a, cable.b)):
        counts = interface_counts(pid, f"the namespace of process {pid}")
        found |= {(pid, name): row for name, row in counts.items()}
    return found


@cache
def _own_place() -> Place:
    """The place of links without a run; made when the first is."""
    return Place.of_this_process()

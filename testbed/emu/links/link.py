"""Mininet links whose interfaces this project makes, names and impairs; what all kinds have in common.

What carries them is in `carried`. Between nodes of this project (`testbed.emu.hosts`) a link is made together
with all others of its network, under the plan's names. Between other Mininet hosts it is made
at once, as Mininet's own links are: then `delay`, `bw` and the like hold from the start.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mininet.link import Intf, Link

from testbed.emu.links.cable import Cable, End
from testbed.emu.links.carried import Carried, Place
from testbed.live.fabric import NetworkError
from testbed.plan.mininet_topo import impairment_of


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


class CbnLink(Carried, Link):  # type: ignore[misc]
    """A link of any kind."""

    def __init__(self, node1: Any, node2: Any, **options: Any) -> None:
        self.options = options
        """What Mininet's users say of it: `bw`, `delay`, `loss`, ..."""
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

    def stop(self) -> None:
        """Take the link away; that of a network goes with its namespaces."""
        if self.network is None and not self._ended:
            self._ended = True
            self.end()
            self.delete()

    def end(self) -> None:
        """End what carries this link alone."""


@cache
def _own_place() -> Place:
    """The place of links without a run; made when the first is."""
    return Place.of_this_process()

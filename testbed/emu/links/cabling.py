"""All links of a run, whatever carries each: what the run, its faults and its commands talk to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from testbed.emu.links.base import Links
from testbed.emu.links.choice import carriers
from testbed.emu.links.netem import Netem
from testbed.emu.links.site import Site
from testbed.emu.links.veth import Veth
from testbed.emu.links.wire import Wire
from testbed.emu.options import EmuOptions
from testbed.emu.processes import Child
from testbed.plan.model import Impairment, LinkPlan
from testbed.runs.fidelity import LinkMeasure

CARRIERS: Mapping[str, Callable[[Site, Sequence[LinkPlan]], Links]] = {
    "veth": Veth,
    "netem": Netem,
    "wire": Wire,
}


class Cabling:
    """The links of one run; see `testbed.emu.links.base.Links`."""

    def __init__(self, site: Site, options: EmuOptions) -> None:
        self._links = site.plan.links
        self.chosen: Mapping[str, str] = carriers(site.plan, options)
        """What carries each link, by its name."""
        self._carriers: dict[str, Links] = {
            kind: make(site, [link for link in site.plan.links if self.chosen[link.name] == kind])
            for kind, make in CARRIERS.items()
            if kind in self.chosen.values()
        }
        counts = Counter(self.chosen.values())
        self.name = ", ".join(f"{kind} {counts[kind]}" for kind in self._carriers) or "none"
        """What carries how many links, for the manifest: `veth 30, wire 12`."""

    def build(self) -> None:
        """Make all interfaces; they are down and without addresses, the impairments are in force.

        Raises:
            NetworkError: something cannot be made, or applied, as planned.
        """
        for carrier in self._carriers.values():
            carrier.build()

    def told(self) -> dict[str, str]:
        """What carries the links and how, for the manifest's `implementation`."""
        wire = self._carriers.get("wire")
        return {"links": self.name} | ({"wires": wire.scheduling} if isinstance(wire, Wire) else {})

    @property
    def children(self) -> list[Child]:
        """The processes that carry links, to be watched: without them the run cannot go on."""
        wire = self._carriers.get("wire")
        return [wire.child] if isinstance(wire, Wire) and wire.child is not None else []

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """From now on the link does this to packets, from `a` to `b` and back.

        Raises:
            NetworkError: it cannot be applied.
        """
        self._carrier(link).impair(link, impairment, back)

    def cut(self, link: LinkPlan) -> None:
        """Carry nothing any more over a link; what is on its way is lost."""
        self._carrier(link).cut(link)

    def mend(self, link: LinkPlan) -> None:
        """Carry again, as impaired as before."""
        self._carrier(link).mend(link)

    def count_lateness_anew(self) -> None:
        """The workload begins: how late frames were before counts no more."""
        for carrier in self._carriers.values():
            carrier.count_lateness_anew()

    def measures(self) -> list[LinkMeasure]:
        """What was delivered so far: two entries a link, from `a` and from `b`, in the plan's order."""
        found = {(m.link, m.source): m for each in self._carriers.values() for m in each.measures()}
        return [
            found[link.name, source]
            for link in self._links
            for source in (link.a_interface, link.b_interface)
        ]

    def stop(self) -> list[str]:
        """Carry nothing any more and end all processes; what went wrong, for people."""
        return [problem for carrier in self._carriers.values() for problem in carrier.stop()]

    def _carrier(self, link: LinkPlan) -> Links:
        return self._carriers[self.chosen[link.name]]

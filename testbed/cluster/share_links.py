"""The links that have an end on a machine: those inside it, carried as in `emu`, and tunnels to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from testbed.cluster.round_trip import left_to_do
from testbed.emu.children import Watch
from testbed.emu.links.cable import Cable, End, Tunnel
from testbed.emu.links.carried import Carried, Place, by_kind
from testbed.emu.links.choice import carriers, link_problems
from testbed.emu.links.netem import Netem
from testbed.emu.links.veth import Veth
from testbed.emu.links.wire import TunnelEnd, Wire, carry_together, processes_of
from testbed.emu.options import EmuOptions
from testbed.live.fabric import NetworkError
from testbed.plan.model import Impairment, LinkPlan, Plan
from testbed.runs.measures import LinkMeasure


class ShareLinks:
    """See this module.

    Args:
        plan: whose interfaces they join; with all its nodes.
        pids: of the nodes that are here, the processes that hold their namespaces.
        tunnels: by the name of each link to another machine, that machine's address and the UDP port.
        options: what carries links inside the machine.
    """

    def __init__(
        self,
        plan: Plan,
        pids: Mapping[str, int],
        tunnels: Mapping[str, tuple[str, int]],
        options: EmuOptions,
    ) -> None:
        self._plan = plan
        self._pids = pids
        self._tunnels = tunnels
        self._options = options
        self._interfaces = {i.name: i for node in plan.nodes for i in node.interfaces}
        self._links: dict[str, Carried] = {}
        self._crossing_ns: Mapping[str, int] = {}

    @property
    def carriers(self) -> dict[str, str]:
        """What carries each link, by its name."""
        return {name: link.carrier for name, link in self._links.items()}

    def make(self, place: Place, watch: Watch) -> None:
        """Make them, with their interfaces down.

        Raises:
            NetworkError: something cannot be made, or applied.
        """
        here = [link for link in self._plan.links if link.a in self._pids or link.b in self._pids]
        crossing = [link for link in here if link.name in self._tunnels]
        inside = replace(self._plan, links=tuple(link for link in here if link.name not in self._tunnels))
        if problems := link_problems(inside, self._options):
            raise NetworkError("; ".join(problems))
        chosen = carriers(inside, self._options)

        def cables(kind: type[Carried]) -> list[Cable]:
            return [self._cable(link) for link in inside.links if chosen[link.name] == kind.carrier]

        veths = [(Veth(), cable) for cable in cables(Veth)]
        netems = [(Netem(), cable) for cable in cables(Netem)]
        wires = [(Wire(), cable) for cable in cables(Wire)]
        ends = [TunnelEnd(self._tunnel(link)) for link in crossing]
        made = {cable.name: link for link, cable in (*veths, *netems, *wires)}
        made |= {end.name: end for end in ends}
        self._links = {link.name: made[link.name] for link in here}
        Veth.make_all(veths, place)
        Netem.make_all(netems, place)
        carry_together(wires, ends, place)
        for process in processes_of(self._links.values()):
            watch.add(process.child)

    def stop(self) -> list[str]:
        """End what carries them; what went wrong, for people. All else goes with the namespaces."""
        return [said for process in processes_of(self._links.values()) for said in process.stop()]

    def leave_out(self, crossing_ns: Mapping[str, int]) -> None:
        """From now on links to other machines delay less, by what the network between the machines takes.

        Args:
            crossing_ns: by the link's name, how long that is one way, in the run's time.
        """
        self._crossing_ns = crossing_ns
        for plan in self._plan.links:
            if plan.name in self._links and crossing_ns.get(plan.name):
                self.impair(plan.name, plan.impairment, plan.impairment_back)

    def impair(self, name: str, impairment: Impairment, back: Impairment) -> None:
        """From now on packets meet with this on the link, the network between the machines included."""
        adds_ns = self._crossing_ns.get(name, 0)
        self._link(name).impair(left_to_do(impairment, adds_ns), left_to_do(back, adds_ns))

    def take_down(self, name: str) -> None:
        """Carry nothing any more over a link."""
        self._link(name).take_down()

    def bring_up(self, name: str) -> None:
        """Carry again, as impaired as before."""
        self._link(name).bring_up()

    def count_lateness_anew(self) -> None:
        """The workload begins."""
        for kind, links in by_kind(self._links.values()):
            kind.count_lateness_anew(links)

    def measures(self) -> list[LinkMeasure]:
        """Both ways of each link inside, and what enters tunnels here."""
        return [row for kind, links in by_kind(self._links.values()) for row in kind.measures(links)]

    def _link(self, name: str) -> Carried:
        if name not in self._links:
            raise NetworkError(f"the link {name} has no end on this machine")
        return self._links[name]

    def _cable(self, link: LinkPlan) -> Cable:
        a, b = self._end(link.a, link.a_interface), self._end(link.b, link.b_interface)
        return Cable(link.name, a, b, link.mtu, link.impairment, link.impairment_back)

    def _tunnel(self, link: LinkPlan) -> Tunnel:
        address, port = self._tunnels[link.name]
        is_a = link.a in self._pids
        node, interface = (link.a, link.a_interface) if is_a else (link.b, link.b_interface)
        does = link.impairment if is_a else link.impairment_back
        return Tunnel(link.name, self._end(node, interface), link.mtu, does, is_a, port, address)

    def _end(self, node: str, interface: str) -> End:
        return End(self._pids[node], interface, self._interfaces[interface].mac)

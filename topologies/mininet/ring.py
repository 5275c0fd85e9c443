"""A ring of routers with a client at each end, as a Mininet topology.

For `cbn`:   cbn run topologies/mininet/ring.py:RingTopo
For `mn`:    mn --custom topologies/mininet/ring.py --topo ring,4 --controller none
As script:   python topologies/mininet/publish.py

    c1 -- r1 --- r2
          |       |
          r4 --- r3 -- c2
"""

from mininet.topo import Topo

from testbed.emu.mininet import CbnClient, CbnRouter, NetemLink, VethLink, WireLink


class RingTopo(Topo):
    """Routers in a ring, clients at the first and at the one opposite."""

    def build(self, size=4, delay="2ms"):
        """Make the nodes and links; `delay` is that of every link of the ring."""
        size = int(size)
        routers = [self.addHost(f"r{n}", cls=CbnRouter) for n in range(1, size + 1)]
        for n, router in enumerate(routers):
            self.addLink(router, routers[(n + 1) % size], delay=delay, bw=100)
        publish = [{"every": "20ms", "count": 25, "message": {"price": {"uniform": [100, 900]}}}]
        self.addHost("c1", cls=CbnClient, publish=publish)
        self.addHost("c2", cls=CbnClient, subscribe=["price < 400"])
        self.addLink("c1", routers[0])
        self.addLink("c2", routers[size // 2])


# What `mn --custom` looks for.
topos = {"ring": RingTopo}
hosts = {"cbn": CbnClient, "router": CbnRouter}
switches = {"cbn": CbnRouter}
links = {"wire": WireLink, "netem": NetemLink, "veth": VethLink}
# `mn` 2.3 overlooks `links` (a comma is missing in it), but takes a whole table.
LINKS = {"default": WireLink, **links}

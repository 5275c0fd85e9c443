"""A Mininet script of one's own: a content-based network, two clients and a broken router.

Run as root: python topologies/mininet/publish.py
"""

from mininet.net import Mininet
from ring import RingTopo

from testbed.emu.mininet import WireLink


def main():
    """Build, publish, break, publish again."""
    net = Mininet(topo=RingTopo(4), link=WireLink, controller=None)
    net.start()
    try:
        seller, buyer = net["c1"], net["c2"]
        cheap = buyer.subscribe('dest = "ORD" and price < 500')
        seller.publish('dest = "ORD", price = 350')
        seller.publish('dest = "ORD", price = 900')
        show("buyer received", buyer.deliveries(cheap))

        net["r2"].crash()
        buyer.wait_until_converged()
        seller.publish('dest = "ORD", price = 200')
        show("and without r2", buyer.deliveries(cheap))

        print(net["r1"].cmd("ip -brief address show dev r1-eth0").strip())
    finally:
        net.stop()


def show(what, deliveries):
    """One line for each message."""
    for delivery in deliveries:
        print(f"{what} {delivery['message']} over {delivery['hop_count']} routers")


if __name__ == "__main__":
    main()

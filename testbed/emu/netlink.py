"""Configures the interfaces of one namespace over a netlink socket, as `ip` would.

A process a namespace, or two, is what takes the time in networks of hundreds
of nodes; a socket takes none. Only what a run needs: addresses, links up,
permanent neighbours.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator

from testbed.live.fabric import NetworkError
from testbed.plan.model import InterfacePlan

# From <linux/netlink.h>, <linux/rtnetlink.h>, <linux/if_addr.h> and <linux/neighbour.h>.
RTM_NEWLINK, RTM_NEWADDR, RTM_NEWNEIGH = 16, 20, 28
NLM_F_REQUEST, NLM_F_ACK, NLM_F_REPLACE, NLM_F_CREATE = 0x1, 0x4, 0x100, 0x400
NLMSG_ERROR = 2
IFF_UP = 0x1
IFA_ADDRESS, IFA_LOCAL = 1, 2
NDA_DST, NDA_LLADDR = 1, 2
NUD_PERMANENT = 0x80
HEADER = struct.Struct("=IHHII")
REPLY_TIMEOUT_S = 30.0
LARGEST_REPLY = 65_536
_CREATE = NLM_F_CREATE | NLM_F_REPLACE


class Netlink:
    """A socket to the routing part of the kernel, in the namespace that the thread is in when it is made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.settimeout(REPLY_TIMEOUT_S)
        self._sequence = 0

    def configure(self, interface: InterfacePlan) -> None:
        """Give an interface its address, set it up, and enter its neighbour for good.

        No ARP packet stands in a capture then, and no first packet waits for an answer.

        Raises:
            NetworkError: the kernel refused; the text names the interface and the reason.
        """
        try:
            index = socket.if_nametoindex(interface.name)
            for kind, flags, body in requests(interface, index):
                self._ask(kind, flags, body)
        except OSError as error:
            raise NetworkError(f"{interface.name} cannot be configured: {error.strerror or error}") from error

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def _ask(self, kind: int, flags: int, body: bytes) -> None:
        self._sequence += 1
        flags |= NLM_F_REQUEST | NLM_F_ACK
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, flags, self._sequence, 0) + body)
        reply = self._socket.recv(LARGEST_REPLY)
        _, answer, _, sequence, _ = HEADER.unpack_from(reply)
        if answer != NLMSG_ERROR or sequence != self._sequence:
            raise OSError(errno.EPROTO, "the kernel gave an answer to something else")
        code = -struct.unpack_from("=i", reply, HEADER.size)[0]
        if code:
            raise OSError(code, os.strerror(code))


def requests(interface: InterfacePlan, index: int) -> Iterator[tuple[int, int, bytes]]:
    """What to ask the kernel for: the kind of each message, its flags, and its body."""
    own, peer = socket.inet_aton(interface.address), socket.inet_aton(interface.peer_address)
    address = struct.pack("=BBBBI", socket.AF_INET, interface.prefix_length, 0, 0, index)
    yield RTM_NEWADDR, _CREATE, address + _attribute(IFA_LOCAL, own) + _attribute(IFA_ADDRESS, own)
    yield RTM_NEWLINK, 0, struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, IFF_UP, IFF_UP)
    neighbour = struct.pack("=BxxxiHBB", socket.AF_INET, index, NUD_PERMANENT, 0, 0)
    station = bytes.fromhex(interface.peer_mac.replace(":", ""))
    yield RTM_NEWNEIGH, _CREATE, neighbour + _attribute(NDA_DST, peer) + _attribute(NDA_LLADDR, station)


def _attribute(kind: int, value: bytes) -> bytes:
    """One attribute, filled up to a multiple of four bytes."""
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)

"""The socket of a link that goes on on another machine: one frame a datagram, one port a link."""

from __future__ import annotations

import errno
import socket

from testbed.emu.links.cable import Tunnel

ETHERNET_BYTES = 14
UDP_BYTES = 8
IP_BYTES = {socket.AF_INET: 20, socket.AF_INET6: 40}
BUFFER_BYTES = 4 << 20
# From <linux/in.h> and <linux/in6.h>; the socket module does not name them.
DISCOVER = {
    socket.AF_INET: (socket.IPPROTO_IP, 10, 14),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 24),
}
"""By family: the protocol, its IP_MTU_DISCOVER and its IP_MTU."""
IN_PIECES, WHOLE = 0, 2
"""IP_PMTUDISC_DONT and IP_PMTUDISC_DO."""
DATAGRAM_BYTES = 65_507
"""What a UDP datagram over IPv4 can carry at most."""


def open_tunnel(tunnel: Tunnel) -> socket.socket:
    """Make the socket, which takes frames from the other machine alone and does not wait.

    Raises:
        OSError: it cannot be made, or no datagram has room for the largest frame.
    """
    family, _, _, _, address = socket.getaddrinfo(
        tunnel.peer_address, tunnel.port, type=socket.SOCK_DGRAM, proto=socket.IPPROTO_UDP
    )[0]
    made = socket.socket(family, socket.SOCK_DGRAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        made.bind((tunnel.address, tunnel.port))
        made.connect(address)
        _let_pass(made, tunnel)
        made.setblocking(False)
    except OSError as error:
        made.close()
        why = error.strerror or error
        raise OSError(
            error.errno, f"{tunnel.name} to {tunnel.peer_address}, UDP port {tunnel.port}: {why}"
        ) from None
    return made


def room(made: socket.socket) -> int:
    """The largest MTU of a link whose frames cross the network between the machines in one piece."""
    protocol, _, ask = DISCOVER[made.family]
    return made.getsockopt(protocol, ask) - IP_BYTES[made.family] - UDP_BYTES - ETHERNET_BYTES


def _let_pass(made: socket.socket, tunnel: Tunnel) -> None:
    """Have IP cut frames into pieces only where they do not fit: a lost piece is a lost frame."""
    if tunnel.mtu + ETHERNET_BYTES > DATAGRAM_BYTES:
        raise OSError(
            errno.EMSGSIZE,
            f"its MTU is {tunnel.mtu}, and a datagram between machines carries {DATAGRAM_BYTES} bytes: "
            f"give the link `mtu: {DATAGRAM_BYTES - ETHERNET_BYTES}` or less",
        )
    protocol, discover, _ = DISCOVER[made.family]
    made.setsockopt(protocol, discover, WHOLE)
    if tunnel.mtu > room(made):
        made.setsockopt(protocol, discover, IN_PIECES)

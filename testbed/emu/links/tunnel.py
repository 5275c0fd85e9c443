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
IP_MTU_DISCOVER, IP_MTU, IP_PMTUDISC_DO = 10, 14, 2
IPV6_MTU_DISCOVER, IPV6_MTU, IPV6_PMTUDISC_DO = 23, 24, 2


def open_tunnel(tunnel: Tunnel) -> socket.socket:
    """Make the socket, which takes frames from the other machine alone and does not wait.

    Raises:
        OSError: it cannot be made, or the network between the machines is too narrow for the frames.
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
        _check_room(made, tunnel)
        made.setblocking(False)
    except OSError as error:
        made.close()
        why = error.strerror or error
        raise OSError(
            error.errno, f"{tunnel.name} to {tunnel.peer_address}, UDP port {tunnel.port}: {why}"
        ) from None
    return made


def _check_room(made: socket.socket, tunnel: Tunnel) -> None:
    """Frames are never cut into pieces on their way, which would double what a loss costs."""
    if made.family == socket.AF_INET:
        made.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        mtu = made.getsockopt(socket.IPPROTO_IP, IP_MTU)
    else:
        made.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO)
        mtu = made.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)
    room = mtu - IP_BYTES[made.family] - UDP_BYTES - ETHERNET_BYTES
    if tunnel.mtu > room:
        raise OSError(
            errno.EMSGSIZE,
            f"its MTU is {tunnel.mtu}, and the network between the machines (MTU {mtu}) has room for {room}: "
            f"give the link `mtu: {room}` or less, or the machines a larger MTU",
        )

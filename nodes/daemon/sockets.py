"""Opens the UDP sockets of a node's interfaces and says how they fare."""

from __future__ import annotations

import socket
import struct
from contextlib import ExitStack

from nodes.config import InterfaceConfig

RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024
SEND_BUFFER_BYTES = 2 * 1024 * 1024

# From <linux/socket.h> and <linux/sock_diag.h>; the socket module does not name them.
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_MEMINFO = 55
SK_MEMINFO_DROPS = 8
SK_MEMINFO_VARS = 9


class BindError(OSError):
    """An interface's address cannot be used."""


def open_interface(interface: InterfaceConfig) -> socket.socket:
    """The non-blocking UDP socket of one interface, connected to its peer.

    Connected, it receives from its neighbour alone, and the kernel's errors about the
    neighbour (nobody listening there yet) come back on it.

    Raises:
        BindError: the address is not this machine's, or is taken.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try:
        _widen(sock, SO_RCVBUFFORCE, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        _widen(sock, SO_SNDBUFFORCE, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        sock.bind((interface.address, interface.port))
        sock.connect((interface.peer_address, interface.peer_port))
    except OSError as error:
        sock.close()
        raise BindError(
            f"interface {interface.name}: cannot use {interface.address}:{interface.port} towards "
            f"{interface.peer_address}:{interface.peer_port}: {error.strerror or error}; "
            "is the address configured here, and no other node running on it?"
        ) from error
    return sock


def open_interfaces(interfaces: tuple[InterfaceConfig, ...]) -> list[socket.socket]:
    """The sockets of all interfaces, or none and `BindError`."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(open_interface(i)) for i in interfaces]
        opened.pop_all()
    return sockets


def buffer_overflows(sock: socket.socket) -> int:
    """Datagrams the kernel dropped because this socket's receive buffer was full."""
    info = sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4 * SK_MEMINFO_VARS)
    return int(struct.unpack_from("=I", info, 4 * SK_MEMINFO_DROPS)[0])


def receive_buffer_bytes(sock: socket.socket) -> int:
    """What the kernel gave; less than asked for without CAP_NET_ADMIN."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def _widen(sock: socket.socket, force: int, polite: int, size: int) -> None:
    """Ask past the system's limit, which only CAP_NET_ADMIN may, else up to the limit."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, force, size)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, polite, size)

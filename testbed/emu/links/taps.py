"""Makes tap devices inside the namespaces of nodes, by ioctl alone.

They stay when their descriptors are closed, and go with their namespaces: the
kernel takes 20 ms to remove one tap, and no longer to remove a namespace with
all that is in it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct

from nodes.daemon.kernel import inside_network_of
from testbed.emu.links.cable import End

TUN = "/dev/net/tun"
TUNSETIFF = 0x400454CA
TUNSETPERSIST = 0x400454CB
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
SIOCSIFMTU = 0x8922
SIOCSIFHWADDR = 0x8924
SIOCSIFTXQLEN = 0x8943
ARPHRD_ETHER = 1
LONGEST_NAME = 15
_NAME = struct.Struct("16s")
_REQUEST_BYTES = 40
"""Of `struct ifreq`."""


def open_tap(end: End, mtu: int, queue_frames: int) -> int:
    """Make a tap as planned; its descriptor, which does not wait. The tap goes with its namespace.

    Raises:
        OSError: it cannot be made; the text names it, and what failed.
    """
    if not 0 < len(end.name.encode()) <= LONGEST_NAME:
        raise OSError(errno.EINVAL, f"{end.name!r} is no name for an interface: 1 to {LONGEST_NAME} bytes")
    with inside_network_of(end.pid, f"the namespace of {end.name}"):
        descriptor = _call(end.name, f"opening {TUN}", os.open, TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        flags = struct.pack("H", IFF_TAP | IFF_NO_PI)
        _request(end.name, "making the tap", descriptor, TUNSETIFF, flags)
        _call(end.name, "keeping the tap", fcntl.ioctl, descriptor, TUNSETPERSIST, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            asks = control.fileno()
            mac = struct.pack("H6s", ARPHRD_ETHER, bytes.fromhex(end.mac.replace(":", "")))
            _request(end.name, f"setting its address {end.mac}", asks, SIOCSIFHWADDR, mac)
            _request(end.name, f"setting its MTU {mtu}", asks, SIOCSIFMTU, struct.pack("i", mtu))
            queue = struct.pack("i", queue_frames)
            _request(end.name, f"setting its queue of {queue_frames} frames", asks, SIOCSIFTXQLEN, queue)
    return descriptor


def _request(name: str, what: str, descriptor: int, code: int, value: bytes) -> None:
    request = (_NAME.pack(name.encode()) + value).ljust(_REQUEST_BYTES, b"\0")
    _call(name, what, fcntl.ioctl, descriptor, code, request)


def _call(name: str, what: str, call: object, *arguments: object) -> int:
    assert callable(call)
    try:
        result: int = call(*arguments)
    except OSError as error:
        raise OSError(error.errno, f"{name}: {what}: {os.strerror(error.errno or 0)}") from None
    return result

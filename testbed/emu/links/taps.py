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

from testbed.emu.links.namespaces import inside_namespace
from testbed.emu.links.orders import TapOrder

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


def open_tap(order: TapOrder, mtu: int, queue_frames: int) -> int:
    """Make a tap as planned; its descriptor, which does not wait. The tap goes with its namespace.

    Raises:
        OSError: it cannot be made; the text names it, and what failed.
    """
    if not 0 < len(order.name.encode()) <= LONGEST_NAME:
        raise OSError(errno.EINVAL, f"{order.name!r} is no name for an interface: 1 to {LONGEST_NAME} bytes")
    with inside_namespace(order.pid, f"the namespace of {order.name}"):
        descriptor = _told(
            order.name, f"opening {TUN}", os.open, TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        )
        flags = struct.pack("H", IFF_TAP | IFF_NO_PI)
        _request(order.name, "making the tap", descriptor, TUNSETIFF, flags)
        _told(order.name, "keeping the tap", fcntl.ioctl, descriptor, TUNSETPERSIST, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            asks = control.fileno()
            mac = struct.pack("H6s", ARPHRD_ETHER, bytes.fromhex(order.mac.replace(":", "")))
            _request(order.name, f"setting its address {order.mac}", asks, SIOCSIFHWADDR, mac)
            _request(order.name, f"setting its MTU {mtu}", asks, SIOCSIFMTU, struct.pack("i", mtu))
            queue = struct.pack("i", queue_frames)
            _request(order.name, f"setting its queue of {queue_frames} frames", asks, SIOCSIFTXQLEN, queue)
    return descriptor


def _request(name: str, what: str, descriptor: int, code: int, value: bytes) -> None:
    request = (_NAME.pack(name.encode()) + value).ljust(_REQUEST_BYTES, b"\0")
    _told(name, what, fcntl.ioctl, descriptor, code, request)


def _told(name: str, what: str, call: object, *arguments: object) -> int:
    assert callable(call)
    try:
        result: int = call(*arguments)
    except OSError as error:
        raise OSError(error.errno, f"{name}: {what}: {os.strerror(error.errno or 0)}") from None
    return result

"""Background traffic as frames: the same in every world.

The frames have an EtherType for local experiments (IEEE 802), so no node answers them, and captures show
them as what they are. Not here: which links carry how much (`testbed.plan.background`).
"""

from __future__ import annotations

import struct

from testbed.plan.model import Flow, InterfacePlan

ETHERTYPE = 0x88B5
_HEADER = struct.Struct(">6s6sH")


def background_frame(interface: InterfacePlan, flow: Flow) -> bytes:
    """A frame of a flow, which leaves by this interface."""
    destination, source = (bytes.fromhex(mac.replace(":", "")) for mac in (interface.peer_mac, interface.mac))
    return _HEADER.pack(destination, source, ETHERTYPE).ljust(flow.frame_bytes, b"\0")

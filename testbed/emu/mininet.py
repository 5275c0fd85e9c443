"""The classes for Mininet scripts and for `mn --custom`, in one place to import from (docs/mininet.md)."""

from testbed.emu.hosts import CbnClient, CbnRouter
from testbed.emu.links.netem import NetemLink
from testbed.emu.links.veth import VethLink
from testbed.emu.links.wire import WireLink
from testbed.emu.network import CbnNet

__all__ = ["CbnClient", "CbnNet", "CbnRouter", "NetemLink", "VethLink", "WireLink"]

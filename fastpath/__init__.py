"""Compiled kernels: codec, forwarding table and FIB, data plane, packet capture and pcap decoding.

Nothing here imports another room, decides policy or logs. `ForwardingTable` can
be had from here by itself: `from fastpath import ForwardingTable`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastpath.fib import ForwardingTable

__all__ = ["ForwardingTable"]


def __getattr__(name: str) -> object:
    """Load the table's kernel for who asks for it, and for nobody else."""
    if name != "ForwardingTable":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fastpath.fib import ForwardingTable

    return ForwardingTable

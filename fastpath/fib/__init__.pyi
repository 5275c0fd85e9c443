"""The forwarding table and the FIB: what a router does with a MESSAGE."""

from collections.abc import Iterable, Sequence

from fastpath.fib.values import ClassEntry, DropReason, Route
from fastpath.wire.codec import UsageError, WireError

__all__ = [
    "ALGORITHMS",
    "ClassEntry",
    "DropReason",
    "Fib",
    "ForwardingTable",
    "Gate",
    "Route",
    "UsageError",
    "WireError",
    "count_messages",
    "forward_without_fib",
]

class ForwardingTable:
    def __init__(self, algorithm: str = "fast", rounds: int = 10) -> None: ...
    def add(self, interface: int, filter: bytes) -> int: ...  # noqa: A002
    def remove(self, filter_id: int) -> None: ...
    def commit(self) -> None: ...
    def match(self, packet: bytes, allowed: int | None = None) -> tuple[int, ...]: ...
    def match_many(self, packets: Iterable[bytes], allowed: int | None = None) -> list[tuple[int, ...]]: ...
    def determinants(self) -> list[tuple[str, tuple[int, ...]]]: ...
    def eliminated(self, packet: bytes) -> int: ...
    def stats(self) -> dict[str, int]: ...

ALGORITHMS: tuple[str, ...]

class Gate:
    def __init__(self, interfaces: int) -> None: ...
    def set(self, interface: int, predicate: bytes, part: int = 0) -> None: ...
    def refused(self, interface: int) -> tuple[int, int]: ...

class Fib:
    def __init__(
        self,
        origin_class: int,
        clients: Sequence[int],
        classes: Sequence[ClassEntry],
        tables: Sequence[ForwardingTable],
        max_datagram_bytes: Sequence[int] | None = None,
        route: Route | None = None,
        gate: Gate | None = None,
    ) -> None: ...
    def over(self, tables: Sequence[ForwardingTable]) -> Fib: ...
    def forward(self, packet: bytes, ingress: int) -> tuple[int, list[tuple[int, bytes]]]: ...
    def forward_datagram(
        self, datagram: bytes, ingress: int
    ) -> tuple[list[bytes], list[tuple[int, bytes]], list[DropReason]]: ...
    def stats(self) -> dict[str, int]: ...

def forward_without_fib(
    datagram: bytes, ingress: int
) -> tuple[list[bytes], list[tuple[int, bytes]], list[DropReason]]: ...
def count_messages(datagram: bytes) -> int: ...

"""Seals of datagrams with messages: made for what goes over a link, looked at in what comes."""

from collections.abc import Iterable

from fastpath.fib.values import DropReason

MessageKeyTuple = tuple[int, int, bytes]
"""(key_id, session, key)."""

class MessageSeals:
    def __init__(self, interfaces: int, mode: int) -> None: ...
    def use(
        self, interface: int, sending: MessageKeyTuple | None, receiving: Iterable[MessageKeyTuple]
    ) -> None: ...
    def seal(self, interface: int, datagram: bytes) -> bytes: ...
    def open(self, interface: int, datagram: bytes) -> tuple[bytes, DropReason | int, int]: ...

"""One end of a link, and the seals of datagrams with messages: made for what goes, looked at in what comes.

    off          nothing is sealed, and no seal is looked at
    permissive   all is sealed; what comes without a seal is taken and counted, with a wrong one refused
    required     all is sealed; without a right seal no message is taken

This says what is right. Nodes run `fastpath.seal`, which does the same in compiled code and is compared with
it. Not here: which keys there are (`message_keys`), the bytes of a seal (`nodes.wire.datagram_seal`).
"""

from __future__ import annotations

from collections.abc import Iterable

from fastpath.fib import DropReason
from nodes.config import Messages
from nodes.routing.effects import MessageKey
from nodes.routing.guard import Window
from nodes.wire.codec import WireError, split_datagram
from nodes.wire.datagram_seal import proves_datagram, seal_datagram, seal_of_datagram
from nodes.wire.packets import PacketType


class MessageGuard:
    """One end of one link."""

    def __init__(self, mode: Messages) -> None:
        self._mode = mode
        self._sending: MessageKey | None = None
        self._receiving: tuple[MessageKey, ...] = ()
        self._windows: dict[int, Window] = {}
        """By the name of the session: its counters go on when keys change."""
        self._counter = 0

    def use(self, sending: MessageKey | None, receiving: Iterable[MessageKey]) -> None:
        """Seal with this key from now on, if there is one, and take what is sealed with any of those."""
        self._sending = sending or self._sending
        self._receiving = tuple(receiving)
        sessions = dict.fromkeys(key.session for key in self._receiving)
        self._windows = {name: self._windows.get(name) or Window() for name in sessions}

    def seal(self, datagram: bytes) -> bytes:
        """The datagram as it is to be sent."""
        key = self._sending
        if self._mode is Messages.OFF or key is None or not _messages(datagram):
            return datagram
        self._counter += 1
        return seal_datagram(datagram, key.key, key.key_id, key.session, self._counter)

    def open(self, datagram: bytes) -> tuple[bytes, DropReason | int, int]:
        """What is to be taken of a datagram that came; why its messages are counted, and how many."""
        messages = _messages(datagram)
        if self._mode is Messages.OFF or not messages:
            return datagram, 0, 0
        reason = self._judged(datagram)
        if reason is None:
            return datagram, 0, 0
        taken = reason is DropReason.NO_SEAL and self._mode is Messages.PERMISSIVE
        return datagram if taken else _without_messages(datagram), reason, messages

    def _judged(self, datagram: bytes) -> DropReason | None:
        found = seal_of_datagram(datagram)
        if found is None:
            return DropReason.NO_SEAL
        if found.session not in self._windows:
            return DropReason.OTHER_SESSION
        keys = {(key.key_id, key.session): key.key for key in reversed(self._receiving)}
        key = keys.get((found.key_id, found.session))
        if key is None:
            return DropReason.UNKNOWN_KEY
        if not proves_datagram(datagram, found, key):
            return DropReason.WRONG_SEAL
        window = self._windows[found.session]
        if window.has(found.counter):
            return DropReason.REPEATED_SEAL
        window.add(found.counter)
        return None


def _messages(datagram: bytes) -> int:
    """How many MESSAGEs it has; none if it cannot be framed."""
    try:
        return [kind for kind, _ in split_datagram(datagram)].count(PacketType.MESSAGE)
    except WireError:
        return 0


def _without_messages(datagram: bytes) -> bytes:
    return b"".join(packet for kind, packet in split_datagram(datagram) if kind is not PacketType.MESSAGE)

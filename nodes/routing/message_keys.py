"""Which keys messages over a link are sealed with, in what session, and until when those of before are taken.

What comes is taken under every key of the link, in the session that the neighbour's last HELLO began, and in
those of before for as long as a neighbour may be silent. What goes is sealed with the first key, in the
session that is open. A neighbour opens a session when it has heard a HELLO of ours that names it: by then we
take what it seals in it, as these keys are told before anything is sent.

Not here: seals themselves (`message_guard`), and those of packets between neighbours (`guard`). Decision 36.
"""

from __future__ import annotations

from nodes.config import MILLISECOND_NS, InterfaceConfig, LinkKey, Messages, NodeConfig
from nodes.routing.effects import MessageKey, SealMessages
from nodes.wire.datagram_seal import SEAL_BYTES, message_key, session_name

Names = tuple[int, int]
"""Our incarnation and the neighbour's."""


class MessageKeys:
    """Those of one end of one link."""

    def __init__(self, node: NodeConfig, interface: InterfaceConfig) -> None:
        self.watches = node.security.messages is not Messages.OFF
        """Whether anything is sealed and looked at."""
        self._interface = interface.index
        self._ids = node.node_id, interface.peer_id
        self._grace_ns = node.timers.hold_ms * MILLISECOND_NS
        self._keys = interface.keys
        self._sending: MessageKey | None = None
        self._receiving: dict[tuple[int, int], MessageKey] = {}
        """By the number of the key and the name of the session."""
        self._ends: dict[tuple[int, int], int] = {}
        """Of those that are taken no more from a time on: when."""
        self._known: tuple[Names, bool] | None = None

    @property
    def seal_bytes(self) -> int:
        """By how much datagrams with messages become longer."""
        return SEAL_BYTES if self.watches else 0

    def use(self, keys: tuple[LinkKey, ...]) -> None:
        """The keys of the link are these now; what goes is sealed with the first."""
        self._keys = keys
        self._known = None

    def look(self, now_ns: int, names: Names, *, up: bool) -> SealMessages | None:
        """What the adjacency has come to; what is to be sealed and taken from now on, if that has changed."""
        known = names, up
        if known == self._known and not any(now_ns >= end for end in self._ends.values()):
            return None
        self._known = known
        before = self._sending, [*self._receiving]
        self._take(now_ns, self._current(names) if names[1] else {})
        if up and self._keys:
            self._sending = self._made(self._keys[0], names, sent=True)
        if before == (self._sending, [*self._receiving]):
            return None
        return SealMessages(self._interface, self._sending, tuple(self._receiving.values()))

    def _take(self, now_ns: int, current: dict[tuple[int, int], MessageKey]) -> None:
        for at in self._receiving:
            if at not in current:
                self._ends.setdefault(at, now_ns + self._grace_ns)
        for at, key in current.items():
            self._receiving[at] = key
            self._ends.pop(at, None)
        for at in [at for at, end in self._ends.items() if now_ns >= end]:
            del self._receiving[at], self._ends[at]

    def _current(self, names: Names) -> dict[tuple[int, int], MessageKey]:
        made = (self._made(key, names, sent=False) for key in self._keys)
        return {(key.key_id, key.session): key for key in made}

    def _made(self, key: LinkKey, names: Names, *, sent: bool) -> MessageKey:
        us, peer = zip(self._ids, names, strict=True)
        secret = message_key(key.secret, us, peer) if sent else message_key(key.secret, peer, us)
        return MessageKey(key.key_id, session_name(*names), secret)

"""What a client holds and tells its router, by ids of its own: subscriptions, advertisements, patterns.

It outlives the session with the router, which is told all of it anew whenever the client attaches. What the
policy of the router does not permit is held apart for the rest of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from nodes.model import UsageError
from nodes.routing.digests import SetDigest
from nodes.wire.packets import Kind, Refused

ID_MAX = 0xFFFF_FFFF

Send = Callable[[int, Kind, bytes, Hashable], int]
"""`Link.send`: (now, kind, payload, key) to a ticket."""


@dataclass(slots=True)
class _Entry:
    encoded: bytes
    ticket: int = 0
    refused: bool = False


class Held:
    """What it holds of one kind: predicates, or the texts of patterns, as they are sent.

    Args:
        what: The kind's name, in the singular.
        add: The control payload that adds or replaces one.
        withdraw: The one that takes it back.
        send: What sends them to the router, which is attached when it is called.
    """

    def __init__(self, what: str, add: Kind, withdraw: Kind, send: Send) -> None:
        self._what = what
        self._add = add
        self._withdraw = withdraw
        self._send = send
        self._entries: dict[int, _Entry] = {}
        self._digest = SetDigest()
        self._highest = 0
        """Of the ids since there was none."""
        self.refused = 0
        """How many of them the router has not taken, as its policy does not permit them."""

    def __len__(self) -> int:
        """How many the router is to have."""
        return len(self._entries) - self.refused

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of all."""
        return tuple(self._entries)

    @property
    def digest(self) -> str:
        """What client and router compare to know that they agree."""
        return self._digest.digest

    def set(self, now_ns: int, encoded: bytes, number: int | None, *, attached: bool) -> int:
        """Add one, or put another in the place of one; returns its id, by default one above all there were.

        Raises:
            UsageError: It cannot have this id.
        """
        chosen = self._highest + 1 if number is None else number
        if not 0 <= chosen <= ID_MAX:
            article = "an" if self._what[0] in "aeiou" else "a"
            raise UsageError(f"{article} {self._what}'s id is 0 to {ID_MAX}; got {chosen}")
        self._highest = max(self._highest, chosen)
        self._drop(chosen)
        entry = self._entries[chosen] = _Entry(encoded)
        self._digest.toggle(chosen, encoded)
        if attached:
            self._tell(now_ns, chosen, entry)
        return chosen

    def discard(self, now_ns: int, number: int, *, attached: bool) -> bool:
        """Withdraw one; False if there is none of this id."""
        entry = self._drop(number)
        if entry is None:
            return False
        self._highest = self._highest if self._entries else 0
        if attached and not entry.refused:
            self._send(now_ns, self._withdraw, number.to_bytes(4, "big"), (self._what, number))
        return True

    def refuse(self, refused: Refused) -> bool:
        """The router's policy does not permit what is named; False if that is not what we hold by now."""
        entry = self._entries.get(refused.number)
        if entry is None or entry.refused or Refused.of(refused.number, entry.encoded) != refused:
            return False
        self._set_refused(refused.number, entry, refused=True)
        return True

    def is_refused(self, number: int) -> bool:
        """Whether the router has refused the one of this id in this session."""
        entry = self._entries.get(number)
        return entry is not None and entry.refused

    def tell_all(self, now_ns: int) -> None:
        """The router knows nothing yet."""
        for number, entry in self._entries.items():
            if entry.refused:
                self._set_refused(number, entry, refused=False)
            self._tell(now_ns, number, entry)

    def acknowledged(self, ticket: int) -> int:
        """How many the router has, if it has acknowledged all up to this ticket."""
        return sum(entry.ticket <= ticket for entry in self._entries.values() if not entry.refused)

    def _drop(self, number: int) -> _Entry | None:
        """Hold it no longer; returns what it was."""
        entry = self._entries.pop(number, None)
        if entry is not None and entry.refused:
            self.refused -= 1
        elif entry is not None:
            self._digest.toggle(number, entry.encoded)
        return entry

    def _set_refused(self, number: int, entry: _Entry, *, refused: bool) -> None:
        entry.refused = refused
        self.refused += 1 if refused else -1
        self._digest.toggle(number, entry.encoded)

    def _tell(self, now_ns: int, number: int, entry: _Entry) -> None:
        payload = number.to_bytes(4, "big") + entry.encoded
        entry.ticket = self._send(now_ns, self._add, payload, (self._what, number))

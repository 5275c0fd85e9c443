"""What a client holds and tells its router, by ids of its own: subscriptions, advertisements, patterns.

It outlives the session with the router, which is told all of it anew whenever the client attaches. What the
router refuses is held apart: what its policy does not permit for the rest of the session, and what is more
than it holds for one client until it says that there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import islice

from nodes.model import UsageError
from nodes.routing.digests import SetDigest
from nodes.wire.packets import ALL_REFUSED, NAMES_KEPT, OF_LIMITS, Kind, Refused

ID_MAX = 0xFFFF_FFFF

Send = Callable[[int, Kind, bytes, Hashable], int]
"""`Link.send`: (now, kind, payload, key) to a ticket."""


@dataclass(slots=True)
class _Entry:
    encoded: bytes
    ticket: int = 0
    refused: int = 0
    """Why the router has not taken it (`Refusal`); 0: it has, as far as we know."""


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
        self.refused: Counter[int] = Counter()
        """How many of them the router has not taken, by why not (`Refusal`)."""

    def __len__(self) -> int:
        """How many the router is to have."""
        return len(self._entries) - self.refused.total()

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
        if attached and (not entry.refused or entry.refused in OF_LIMITS):
            self._send(now_ns, self._withdraw, number.to_bytes(4, "big"), (self._what, number))
        return True

    def refuse(self, refused: Refused, why: int) -> bool:
        """The router has not taken what is named; False if that is not what we hold by now."""
        entry = self._entries.get(refused.number)
        if entry is None or entry.refused or Refused.of(refused.number, entry.encoded) != refused:
            return False
        self._set_refused(refused.number, entry, why)
        return True

    def say_again(self, now_ns: int, refused: Refused, why: int) -> bool:
        """The router has room for what is named and was refused for this reason; False if there is none."""
        if refused == ALL_REFUSED:
            several = islice((n for n, entry in self._entries.items() if entry.refused == why), NAMES_KEPT)
            numbers = list(several)
        else:
            entry = self._entries.get(refused.number)
            named = entry is not None and Refused.of(refused.number, entry.encoded) == refused
            numbers = [refused.number] if named and entry is not None and entry.refused == why else []
        for number in numbers:
            entry = self._entries[number]
            self._set_refused(number, entry, 0)
            self._tell(now_ns, number, entry)
        return bool(numbers)

    def why_refused(self, number: int) -> int:
        """Why the router has not taken the one of this id (`Refusal`); 0: it has, as far as we know."""
        entry = self._entries.get(number)
        return 0 if entry is None else entry.refused

    def tell_all(self, now_ns: int) -> None:
        """The router knows nothing yet."""
        for number, entry in self._entries.items():
            if entry.refused:
                self._set_refused(number, entry, 0)
            self._tell(now_ns, number, entry)

    def acknowledged(self, ticket: int) -> int:
        """How many the router has, if it has acknowledged all up to this ticket."""
        return sum(entry.ticket <= ticket for entry in self._entries.values() if not entry.refused)

    def _drop(self, number: int) -> _Entry | None:
        """Hold it no longer; returns what it was."""
        entry = self._entries.pop(number, None)
        if entry is not None and entry.refused:
            self.refused[entry.refused] -= 1
        elif entry is not None:
            self._digest.toggle(number, entry.encoded)
        return entry

    def _set_refused(self, number: int, entry: _Entry, why: int) -> None:
        """Once it was taken, or once it was not."""
        self.refused[entry.refused or why] += 1 if why else -1
        entry.refused = why
        self._digest.toggle(number, entry.encoded)

    def _tell(self, now_ns: int, number: int, entry: _Entry) -> None:
        payload = number.to_bytes(4, "big") + entry.encoded
        entry.ticket = self._send(now_ns, self._add, payload, (self._what, number))

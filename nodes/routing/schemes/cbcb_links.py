"""The links of a router under `cbcb`: who is at their ends, and digests of all that was sent over them.

What is sent and received is kept as a running digest for each direction of a
session. Channels are ordered and lose nothing, so the two ends' digests agree
exactly when everything has arrived.

Not here: the channels (`nodes.routing.channel`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

DIGEST_BYTES = 16


@dataclass(slots=True)
class _Link:
    neighbour: int
    sent: bytes = b""
    received: bytes = b""


class Links:
    """The links that have joined, by interface."""

    def __init__(self) -> None:
        self._links: dict[int, _Link] = {}

    def join(self, interface: int, neighbour: int) -> None:
        """A link is up."""
        self._links[interface] = _Link(neighbour)

    def leave(self, interface: int) -> int:
        """A link is not up any more; returns who was at its end."""
        return self._links.pop(interface).neighbour

    def __contains__(self, interface: int) -> bool:
        return interface in self._links

    def neighbour(self, interface: int) -> int:
        """Who is at the end of a link."""
        return self._links[interface].neighbour

    def to(self, neighbour: int) -> list[int]:
        """The interfaces to a neighbour."""
        return [interface for interface, link in sorted(self._links.items()) if link.neighbour == neighbour]

    def note_sent(self, interface: int, kind: int, payload: bytes) -> None:
        """We have sent this."""
        link = self._links[interface]
        link.sent = _next(link.sent, kind, payload)

    def note_received(self, interface: int, kind: int, payload: bytes) -> None:
        """We have received this."""
        link = self._links[interface]
        link.received = _next(link.received, kind, payload)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._links))

    def accounts(self, era: int) -> dict[int, tuple[str, str]]:
        """(Sent, received) by interface; in another era they are others."""
        suffix = f"/{era:016x}"
        return {
            i: (link.sent.hex() + suffix, link.received.hex() + suffix) for i, link in self._links.items()
        }


def _next(before: bytes, kind: int, payload: bytes) -> bytes:
    digest = hashlib.blake2b(before, digest_size=DIGEST_BYTES)
    digest.update(bytes((kind,)))
    digest.update(payload)
    return digest.digest()

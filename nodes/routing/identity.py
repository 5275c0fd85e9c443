"""Whether another router in the network has our id.

A record in our name that we did not say comes from before our restart, and to
speak again above it ends it. If it does not end, somebody else speaks: after
some rounds we give in, for two who outdo each other would go on for ever. The
one who gives in is out of the network until a person gives one of them another
id. (Who forges records can bring that about, as he can say anything else in our
name: version 1 of the wire format checks nobody's authority.)
"""

from __future__ import annotations

ROUNDS = 8
"""So often we are outdone in close succession before we give in."""
CALM_NS = 10_000_000_000
"""After so long without, it counts from the beginning."""


class Identity:
    """How often we were outdone of late."""

    def __init__(self) -> None:
        self.refused = False
        """Whether we have given in."""
        self._rounds = 0
        self._last_ns = 0

    def challenged(self, now_ns: int) -> bool:
        """We heard a record of ours that is newer than what we said; whether that makes us give in."""
        if now_ns - self._last_ns > CALM_NS:
            self._rounds = 0
        self._rounds += 1
        self._last_ns = now_ns
        self.refused = self._rounds >= ROUNDS
        return self.refused

"""When records of routers that are gone may be forgotten, and how that stays safe.

An origin that we have not been connected with for `forget_ms` is forgotten. It
may come back and speak with low sequences, while somebody else has not forgotten
it yet. Whoever hears an older record than he holds therefore answers with his
own, if that is so old that the sender may have forgotten it (`may_be_forgotten`):
otherwise the two have merely crossed. So the newer record comes to its origin,
who outdoes it.

And whoever has forgotten an origin may have neighbours who have not, and who take
it that he knows. When he hears of the origin again (`recall`), he asks them
(docs/protocols.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

MILLISECOND_NS = 1_000_000
FORGOTTEN_MAX = 65_536
"""So many ids of forgotten origins are remembered: made-up ones must not fill our memory."""


class Ageing:
    """Since when origins have been gone."""

    def __init__(self, forget_ms: int) -> None:
        self._forget_ns = forget_ms * MILLISECOND_NS
        self._gone_since: dict[int, int] = {}
        self._stored_at: dict[int, int] = {}
        self._forgotten: dict[int, None] = {}

    def stored(self, now_ns: int, origin: int) -> None:
        """A record of this origin was news, and has been told to all neighbours."""
        self._stored_at[origin] = now_ns

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """Whether a neighbour that we told of this origin may have forgotten it since."""
        return now_ns - self._stored_at.get(origin, now_ns) >= self._forget_ns // 2

    def look(self, now_ns: int, origins: Iterable[int], connected: Collection[int]) -> None:
        """What records we hold, and with whom we are connected."""
        since = self._gone_since
        self._gone_since = {o: since.get(o, now_ns) for o in origins if o not in connected}

    def take_due(self, now_ns: int) -> list[int]:
        """The origins to forget now; they are forgotten here."""
        due = sorted(o for o, since in self._gone_since.items() if now_ns - since >= self._forget_ns)
        for origin in due:
            del self._gone_since[origin]
            self._stored_at.pop(origin, None)
            self._forgotten[origin] = None
        while len(self._forgotten) > FORGOTTEN_MAX:
            del self._forgotten[next(iter(self._forgotten))]
        return due

    def recall(self, origins: Iterable[int]) -> list[int]:
        """Those of these origins that we had forgotten; it is said once."""
        found = [origin for origin in origins if origin in self._forgotten] if self._forgotten else []
        for origin in found:
            del self._forgotten[origin]
        return found

    def next_deadline(self) -> int | None:
        """When `take_due` gives something."""
        return min(self._gone_since.values()) + self._forget_ns if self._gone_since else None

"""When the records of a router that is gone are deleted, and how that stays safe.

Records of a router that is gone have no effect, as no router that is there lists their
origin. Whoever receives an older record than it holds answers with its own if that is so
old that the sender may have deleted it (`may_be_forgotten`): otherwise the two have
merely crossed. So the newer record reaches its origin, which goes above it. Whoever has
deleted an origin's records may have neighbours that have not, and that assume it knows;
when the origin is listed again (`recall`), it asks them (docs/protocols.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from nodes.config import MILLISECOND_NS, TimerConfig

FORGOTTEN_MAX = 65_536
"""So many ids of deleted origins are remembered: invented ones must not fill our memory."""


class Ageing:
    """Which origins nobody lists with whom we are connected, since when, and when their records are deleted.

    Those of a router that was listed stay for `forget_ms`. Those of one that never was
    may be invented, and one of the last class (`numbers`) must not come back: they go after
    `renumber_ms`.
    """

    def __init__(self, timers: TimerConfig) -> None:
        self._forget_ns = timers.forget_ms * MILLISECOND_NS
        self._soon_ns = timers.renumber_ms * MILLISECOND_NS
        self._was_listed: set[int] = set()
        self._gone_since: dict[int, int] = {}
        self._delete_at: dict[int, int] = {}
        self._stored_at: dict[int, int] = {}
        self._forgotten: dict[int, None] = {}
        self._doubtful: dict[int, None] = {}

    def stored(self, now_ns: int, origin: int) -> None:
        """A record of this origin was news, and is sent to all neighbours."""
        self._stored_at[origin] = now_ns

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """Whether a neighbour that we sent this origin's record may have forgotten it since."""
        return now_ns - self._stored_at.get(origin, now_ns) >= self._forget_ns // 2

    def look(
        self, now_ns: int, held: Collection[int], listed: Collection[int], last_class: Collection[int]
    ) -> None:
        """Note whose records we hold, who is listed, and whose numbers are of the last class."""
        since = self._gone_since
        self._was_listed = {o for o in held if o in listed or o in self._was_listed}
        self._gone_since = {o: since.get(o, now_ns) for o in held if o not in listed}
        soon = {o for o in self._gone_since if o in last_class or o not in self._was_listed}
        self._delete_at = {
            o: at + (self._soon_ns if o in soon else self._forget_ns) for o, at in self._gone_since.items()
        }

    def take_due(self, now_ns: int) -> list[int]:
        """The origins to forget now; they are forgotten here."""
        due = sorted(origin for origin, at in self._delete_at.items() if now_ns >= at)
        for origin in due:
            del self._gone_since[origin], self._delete_at[origin]
            self._stored_at.pop(origin, None)
            _remember(self._forgotten if origin in self._was_listed else self._doubtful, origin)
        return due

    def refused(self, origin: int) -> None:
        """A record of an origin that nobody lists was not stored: it is asked for if somebody lists it."""
        _remember(self._doubtful, origin)

    def recall(self, origins: Iterable[int]) -> list[int]:
        """Those of these origins that we had forgotten or not stored; each is returned once."""
        if not self._forgotten and not self._doubtful:
            return []
        found = [origin for origin in origins if origin in self._forgotten or origin in self._doubtful]
        for origin in found:
            self._forgotten.pop(origin, None)
            self._doubtful.pop(origin, None)
        return found

    def next_deadline(self) -> int | None:
        """When `take_due` gives something."""
        return min(self._delete_at.values()) if self._delete_at else None


def _remember(ids: dict[int, None], origin: int) -> None:
    ids[origin] = None
    while len(ids) > FORGOTTEN_MAX:
        del ids[next(iter(ids))]

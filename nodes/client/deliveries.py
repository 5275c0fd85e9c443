"""The latest deliveries to a client, kept for live control: bounded, and what is dropped is counted.

Here: listeners, each with a predicate and a queue of deliveries it has not taken
yet, or of matches of a pattern, and the latencies of the last deliveries. Not here: subscribing, which is the
client's, and events, which keep everything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from nodes.model import Predicate, UsageError, format_message, matches
from nodes.wire.packets import Message

LISTENERS_MAX = 256
QUEUE_MAX = 100_000
LATENCIES = 1024
"""How many of the last deliveries the latencies are taken of."""

Row = dict[str, object]


@dataclass(slots=True)
class _Listener:
    predicate: Predicate
    most: int
    rows: deque[Row] = field(default_factory=deque)
    dropped: int = 0

    def note(self, row: Row) -> None:
        """Keep a delivery; if there is no room the oldest goes, as the latest are of interest."""
        if len(self.rows) >= self.most:
            self.rows.popleft()
            self.dropped += 1
        self.rows.append(row)


class Deliveries:
    """Deliveries to one client, for its listeners."""

    def __init__(self) -> None:
        self._listeners: dict[int, _Listener] = {}
        self._latencies: deque[int] = deque(maxlen=LATENCIES)

    def note(self, now_ns: int, message: Message) -> None:
        """A message was delivered."""
        latency_ns = now_ns - message.publish_time_ns
        self._latencies.append(latency_ns)
        row: Row | None = None
        for listener in self._listeners.values():
            if matches(listener.predicate, message.attributes):
                row = row or _row(now_ns, latency_ns, message)
                listener.note(row)

    def note_match(self, now_ns: int, subscription: int, messages: Sequence[Message]) -> None:
        """A match of the pattern of this subscription was told."""
        listener = self._listeners.get(subscription)
        if listener is not None:
            listener.note(_match_row(now_ns, messages))

    def listen(self, subscription: int, predicate: Predicate, most: int) -> None:
        """Keep up to so many deliveries that match the predicate, until they are taken.

        Who is to be kept matches alone has a predicate that nothing matches.

        Raises:
            UsageError: That is no number to keep, or there are too many listeners.
        """
        if not 1 <= most <= QUEUE_MAX:
            raise UsageError(f"between 1 and {QUEUE_MAX} deliveries can be kept; got {most}")
        if len(self._listeners) >= LISTENERS_MAX:
            raise UsageError(f"there are {LISTENERS_MAX} listeners already; end one of them first")
        self._listeners[subscription] = _Listener(predicate, most)

    def leave(self, subscription: int) -> None:
        """Keep nothing for this listener any more; one that does not exist is fine."""
        self._listeners.pop(subscription, None)

    def take(self, subscription: int, most: int) -> Row:
        """The deliveries a listener has not taken yet, the oldest first, and how many it missed since.

        Raises:
            UsageError: Nobody listens to that subscription.
        """
        listener = self._listeners.get(subscription)
        if listener is None:
            raise UsageError(f"nobody listens to the subscription {subscription}")
        rows = [listener.rows.popleft() for _ in range(min(most, len(listener.rows)))]
        dropped, listener.dropped = listener.dropped, 0
        return {"deliveries": rows, "waiting": len(listener.rows), "dropped": dropped}

    def latency(self) -> Row:
        """Of the last deliveries: how many they are, their median and 99th percentile."""
        ordered = sorted(self._latencies)
        if not ordered:
            return {"deliveries": 0, "p50_ns": None, "p99_ns": None}
        p50, p99 = (ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 99))
        return {"deliveries": len(ordered), "p50_ns": p50, "p99_ns": p99}


def _row(now_ns: int, latency_ns: int, message: Message) -> Row:
    return {
        "time_ns": now_ns,
        "source": message.source,
        "sequence": message.sequence,
        "hop_count": message.hop_count,
        "latency_ns": latency_ns,
        "message": format_message(message.attributes),
    }


def _match_row(now_ns: int, messages: Sequence[Message]) -> Row:
    components = [
        {
            "source": message.source,
            "sequence": message.sequence,
            "publish_time_ns": message.publish_time_ns,
            "message": format_message(message.attributes),
        }
        for message in messages
    ]
    last_ns = max(message.publish_time_ns for message in messages)
    return {"time_ns": now_ns, "latency_ns": now_ns - last_ns, "components": components}

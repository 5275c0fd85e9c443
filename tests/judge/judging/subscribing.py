"""What clients subscribed to and advertised: by their events, and what captures show beyond these.

By docs/analysis.md ("Unlogged") and docs/wire-format.md (SUBSCRIBE, ADVERTISE, SUBSCRIBE_PATTERN, and what
withdraws them).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.judge.judging.packets import MalformedError, read_value
from tests.judge.judging.permitted import Policy
from tests.judge.judging.run import Run, Sight
from tests.judge.judging.texts import Constraint, Predicate, read_predicate

SUBSCRIBING, ADVERTISING, SEEKING = (3, 4), (7, 8), (12, 13)
"""Kinds of payloads: what adds or replaces one, and what withdraws it."""
SIGNS = ("", "=", "!=", "<", ">", "<=", ">=", ">*", "*<", "*", "any")
"""By number."""


@dataclass(frozen=True, slots=True)
class Change:
    """A client subscribes (with a predicate) or withdraws a subscription (without)."""

    time_ns: int
    client: int
    number: int
    predicate: Predicate | None
    pattern: str = ""
    """Of one that is sought, in the place of a predicate."""

    @property
    def what(self) -> tuple[int, int, Predicate | str | None]:
        """Without its time."""
        return self.client, self.number, self.pattern or self.predicate


def advertised_changes_of(run: Run) -> list[Change]:
    """How what clients advertise changes, in the form of subscriptions, as far as the policy permits it."""
    return _left(_advertising(run), Policy(run).may_advertise)


def changes_of(run: Run) -> list[Change]:
    """All changes of a run, likewise, in order of time; of equal times, those of the events first."""
    return _left(_subscribing(run), Policy(run).may_subscribe)


def refused_changes_of(run: Run) -> tuple[int, int]:
    """How many subscriptions, and how many advertisements, the policy did not permit."""
    policy = Policy(run)
    return (
        _refused(_subscribing(run), policy.may_subscribe),
        _refused(_advertising(run), policy.may_advertise),
    )


May = Callable[[int, Predicate], bool]


def _left(changes: list[Change], may: May) -> list[Change]:
    """What is not permitted leaves nothing under its number."""
    return [
        change if change.predicate is None or may(change.client, change.predicate) else _withdrawn(change)
        for change in changes
    ]


def _withdrawn(change: Change) -> Change:
    return replace(change, predicate=None)


def _refused(changes: list[Change], may: May) -> int:
    """Those that are not permitted; the same again under its number is none."""
    held: dict[tuple[int, int], Predicate | None] = {}
    count = 0
    for change in changes:
        key = change.client, change.number
        again = held.get(key) == change.predicate
        held[key] = change.predicate
        if change.predicate is not None and not again and not may(change.client, change.predicate):
            count += 1
    return count


def _advertising(run: Run) -> list[Change]:
    return _changes_of(run, ("advertise", "unadvertise"), "advertisement", ADVERTISING)


def _subscribing(run: Run) -> list[Change]:
    return _changes_of(run, ("subscribe", "unsubscribe"), "subscription", SUBSCRIBING)


def _changes_of(run: Run, verbs: tuple[str, str], name: str, kinds: tuple[int, int]) -> list[Change]:
    logged = []
    for event in run.of(*verbs):
        text = event.get("predicate")
        predicate = None if text is None else read_predicate(text)
        logged.append(Change(event["time_ns"], run.clients[event["node"]], event[name], predicate))
    return sorted([*logged, *_unlogged(run, logged, kinds)], key=lambda change: change.time_ns)


def unlogged_patterns(run: Run) -> list[Change]:
    """What clients had routers seek, and withdrew, beyond what events say, if routers recognise patterns."""
    if run.plan["scheme_options"].get("patterns") != "factored":
        return []
    ids = run.clients
    logged = [
        Change(event["time_ns"], ids[event["node"]], event["subscription"], None, event.get("pattern", ""))
        for event in run.of("subscribe_pattern", "unsubscribe")
    ]
    return _unlogged(run, logged, SEEKING)


def _unlogged(run: Run, logged: list[Change], kinds: tuple[int, int]) -> list[Change]:
    """What a session shows more often than the events have it in all."""
    known = Counter(change.what for change in logged)
    found = []
    for captured in _sessions(run, kinds):
        seen: Counter[tuple[int, int, Predicate | str | None]] = Counter()
        for change in captured:
            seen[change.what] += 1
            found += [change] if seen[change.what] > known[change.what] else []
    return found


def _sessions(run: Run, kinds: tuple[int, int]) -> Iterator[list[Change]]:
    """By session of a client: the payloads that it sent, each once, in order of the session."""
    sessions: dict[tuple[int, int, int], dict[int, Sight]] = {}
    for sight in run.captures.sights:
        packet = sight.packet
        if sight.at_client and not sight.sent and packet.kind in kinds:
            key = sight.peer, packet.incarnation, packet.peer_incarnation
            sessions.setdefault(key, {}).setdefault(packet.sequence, sight)
    for (client, _, _), sights in sessions.items():
        yield list(_changes(client, [sights[sequence] for sequence in sorted(sights)]))


def _changes(client: int, sights: list[Sight]) -> Iterator[Change]:
    """The payloads that are whole; fragments of one kind follow each other."""
    parts: dict[int | None, tuple[int, bytes]] = {}
    for sight in sights:
        packet = sight.packet
        before = (sight.time_ns, b"") if packet.first else parts.get(packet.kind)
        if before is None:
            continue
        parts[packet.kind] = before[0], before[1] + packet.payload
        if packet.last:
            time_ns, payload = parts.pop(packet.kind)
            (number,), rest = struct.unpack_from(">I", payload), payload[4:]
            predicate = decode_predicate(rest) if packet.kind in (SUBSCRIBING[0], ADVERTISING[0]) else None
            pattern = rest.decode() if packet.kind == SEEKING[0] else ""
            yield Change(time_ns, client, number, predicate, pattern)


def decode_predicate(data: bytes) -> Predicate:
    """A predicate as it is on the wire."""
    (count,), at, filters = struct.unpack_from(">I", data), 4, []
    for _ in range(count):
        constraints = []
        (size,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(size):
            constraint, at = _constraint(data, at)
            constraints.append(constraint)
        filters.append(frozenset(constraints))
    if at != len(data):
        raise MalformedError("bytes remain")
    return frozenset(filters)


def _constraint(data: bytes, at: int) -> tuple[Constraint, int]:
    kind, sign, size = struct.unpack_from(">BBB", data, at)
    name, at = data[at + 3 : at + 3 + size].decode(), at + 3 + size
    if SIGNS[sign] == "any":
        return (name, kind, "any", None), at
    value, at = read_value(data, at, kind)
    return (name, kind, SIGNS[sign], value), at

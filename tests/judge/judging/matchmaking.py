"""The tables `signalling`, `markings` and `matches`, by docs/tables.md and docs/wire-format.md.

Packets between routers are walked one by one, in order of time, as routers saw them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.judge.judging.packets import CONTROL
from tests.judge.judging.run import Run, Sight

COST_ANNOUNCE, CHANGE_MARKING, REPLY, CD_UPDATE = 24, 25, 26, 27
NAMES = {24: "COST_ANNOUNCE", 25: "CHANGE_MARKING", 26: "CHANGE_MARKING_REPLY", 27: "CD_UPDATE"}
SAYS = {0: "new", 1: "withdrawn", 2: "again", 5: "kept"}
"""What a CD_UPDATE says, by its flags."""
BROADCAST = {"bp": "p", "bs": "s"}
SCHEMES = ("amsp", *BROADCAST)
SliceOf = Callable[[int], int]
Mark = tuple[int, str, bool]
"""Since when, which, and whether it is changing."""


@dataclass(frozen=True, slots=True)
class Told:
    """A packet by which routers tell each other of descriptors or marks."""

    sight: Sight
    what: str
    said: str | None = None
    descriptors: int = 0
    change: int = 0
    mark: int = 0
    match: bytes = b""
    """The ids in a CD_UPDATE."""

    @classmethod
    def of(cls, sight: Sight) -> Told:
        """What it says; a fragment after the first says nothing."""
        kind, payload = sight.packet.kind, sight.packet.payload
        assert kind is not None
        if not sight.packet.first or kind == COST_ANNOUNCE:
            return cls(sight, NAMES[kind])
        if kind == CD_UPDATE:
            publisher, subscriber = any(payload[1:5]), any(payload[13:17])
            what = "MCD" if publisher and subscriber else "PCD" if publisher else "SCD"
            return cls(sight, what, SAYS[payload[0]], 1, match=payload[1:25])
        change, mark, count = int.from_bytes(payload[:4]), payload[4], int.from_bytes(payload[5:9])
        return cls(sight, NAMES[kind], None, count, change, mark)

    @property
    def way(self) -> tuple[int, int]:
        """From the router that saw it to its neighbour."""
        return self.sight.node, self.sight.peer

    @property
    def session(self) -> tuple[int, int]:
        """The incarnations of the router that saw it and of its neighbour."""
        packet = self.sight.packet
        ends = packet.incarnation, packet.peer_incarnation
        return ends if self.sight.sent else ends[::-1]


class Matchmaking:
    """What routers of a run told each other under `bp`, `bs` and `amsp`."""

    def __init__(self, run: Run) -> None:
        scheme, options = run.plan["scheme"], run.plan["scheme_options"]
        sights = (s for s in run.captures.sights if s.packet.type == CONTROL and not s.at_client)
        told = (Told.of(sight) for sight in sights if scheme in SCHEMES and sight.packet.kind in NAMES)
        self._told = sorted(told, key=lambda each: each.sight.time_ns)
        self._first = BROADCAST.get(scheme, options.get("marking", "s"))

    def signalling(self, slice_of: SliceOf) -> dict[tuple[Any, ...], list[int]]:
        """Messages, descriptors, packets and bytes by direction, what, what is said, and slice."""
        found: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for told in (each for each in self._told if each.sight.sent):
            key = *told.way, told.what, told.said, slice_of(told.sight.time_ns)
            packet = told.sight.packet
            for at, count in enumerate((packet.first, told.descriptors, 1, packet.size)):
                found[key][at] += count
        return dict(found)

    def markings(self) -> list[tuple[int, int, int, str, bool]]:
        """Direction, since when, mark, and whether it is changing."""
        ways = sorted({told.way for told in self._told})
        return [(*way, *mark) for way in ways for mark in self._of_way(way)]

    def _of_way(self, way: tuple[int, int]) -> Iterator[Mark]:
        sessions: dict[tuple[int, int], _Session] = {}
        current: tuple[int, int] | None = None
        for told in (each for each in self._told if each.way == way):
            if told.session != current:
                if told.session in sessions:
                    continue  # of one that has ended
                current = told.session
                sessions[current] = _Session()
                yield told.sight.time_ns, self._first, False
            yield from sessions[current].take(told)

    def matches(self, slice_of: SliceOf) -> Counter[tuple[int, int]]:
        """How many by router and slice: those it told somebody of when nobody else had told it."""
        heard: dict[tuple[int, bytes], set[int]] = defaultdict(set)
        made = set[tuple[int, bytes]]()
        found: Counter[tuple[int, int]] = Counter()
        # What a router passes on at the moment at which it hears it, it has heard before.
        for told in sorted(self._told, key=lambda each: (each.sight.time_ns, each.sight.sent)):
            if (told.what, told.said) != ("MCD", "new"):
                continue
            key, peer = (told.sight.node, told.match), told.sight.peer
            if not told.sight.sent:
                heard[key].add(peer)
            elif not heard[key] - {peer} and key not in made:
                made.add(key)
                found[told.sight.node, slice_of(told.sight.time_ns)] += 1
        return found


class _Session:
    """The mark of a direction while its two ends talk to each other."""

    def __init__(self) -> None:
        self._seen = set[tuple[bool, int]]()
        self._asked: tuple[int, int] | None = None
        self._begun: Told | None = None

    def take(self, told: Told) -> Iterator[Mark]:
        """What a packet makes of it; one that is repeated makes nothing."""
        sight = told.sight
        packet = sight.sent, sight.packet.sequence
        if packet in self._seen:
            return
        self._seen.add(packet)
        if told.what == NAMES[CHANGE_MARKING] and sight.sent and sight.packet.first:
            self._asked = told.change, told.mark
            yield sight.time_ns, "sp"[told.mark], True
        if told.what == NAMES[REPLY] and not sight.sent:
            self._begun = told if sight.packet.first else self._begun
            if sight.packet.last and self._begun is not None:
                yield from self._answer(sight.time_ns, self._begun)
                self._begun = None

    def _answer(self, time_ns: int, reply: Told) -> Iterator[Mark]:
        if self._asked == (reply.change, reply.mark):
            self._asked = None
            yield time_ns, "sp"[reply.mark], False

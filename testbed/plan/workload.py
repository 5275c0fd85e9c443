"""What clients do and when: subscriptions and publications as scripts of actions.

Here: predicates and messages are read, generated messages drawn, and all put
in order of time. A publication draws from its own random source, so that to
change one leaves the others' messages as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from nodes.config import Action
from nodes.model import (
    PredicateSyntaxError,
    Value,
    declares_nothing,
    format_message,
    format_pattern,
    format_predicate,
    format_value,
    parse_pattern,
    parse_predicate,
)
from testbed.plan.arrivals import due_times
from testbed.plan.dis import NAME as DIS
from testbed.plan.dis import Entities, World, entity_name
from testbed.plan.draws import Draw, DrawValue, read_draws, read_message
from testbed.plan.generated import Generated
from testbed.plan.moments import Times
from testbed.plan.problems import Key
from testbed.plan.sizes import Room
from testbed.plan.source import Source

BEFORE_START_NS = -1
ENTITIES_MAX = 99_999_999
"""Of a client: what the names of entities have room for."""
_SUBSCRIBE = ("subscribe", "unsubscribe")
_ADVERTISE = ("advertise", "unadvertise")
_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


@dataclass(slots=True)
class Workload:
    """Reads the scripts of a scenario's clients."""

    source: Source
    seed: int
    room: Room
    times: Times
    generated: Generated
    world: World | None = None
    """What entities are in; None: there are none."""
    factored: bool = False
    """Whether routers recognise patterns, so that clients need not subscribe to their parts."""
    _predicates: dict[str, str] = field(default_factory=dict)
    """Canonical text by text: populations subscribe to the same again and again."""

    def script(self, name: str, client: Mapping[str, Any], key: Key) -> tuple[Action, ...]:
        """One client's actions in order of time; what is wrong is noted in the source.

        Args:
            name: The client's.
            client: What the scenario says of it, or of its population.
            key: Where it says so.
        """
        actions: list[Action] = []
        numbers = count(1)
        for i, entry in enumerate(client.get("subscribe") or []):
            if entry is not None:
                rng = Random(f"{self.seed}/{name}/subscribe/{i}")
                actions += self._held(entry, (*key, "subscribe", i), numbers, rng, _SUBSCRIBE)
        for i, entry in enumerate(client.get("patterns") or []):
            if entry is not None:
                actions += self._sought(entry, (*key, "patterns", i), numbers)
        numbers = count(1)
        for i, entry in enumerate(client.get("advertise") or []):
            if entry is not None:
                rng = Random(f"{self.seed}/{name}/advertise/{i}")
                actions += self._held(entry, (*key, "advertise", i), numbers, rng, _ADVERTISE)
        for i, spec in enumerate(client.get("publish") or []):
            if spec is not None:
                seed = f"{self.seed}/{name}/publish/{i}"
                actions += self._publications(spec, (*key, "publish", i), seed)
        if "entities" in client:
            taken = max((action.subscription for action in actions), default=0)
            actions += self._entities(name, client["entities"], (*key, "entities"), count(taken + 1))
        return tuple(sorted(actions, key=lambda a: a.at_ns))

    def _held(
        self, entry: Any, key: Key, numbers: Iterator[int], rng: Random, verbs: tuple[str, str]
    ) -> Iterator[Action]:
        """What a client holds for a while: subscriptions or advertisements."""
        spec = {"predicate": entry} if isinstance(entry, str) else entry
        where: Key = key if isinstance(entry, str) else (*key, "predicate")
        if verbs is _ADVERTISE and "predicate" not in spec:
            return  # the schema has complained
        from_ns, until_ns = self._in_force(spec, key)
        for text in self._texts(spec, key, where, rng):
            if verbs is _ADVERTISE and not self._can_be_advertised(text, where):
                return
            number = next(numbers)
            yield Action(from_ns, verbs[0], number, text)
            if until_ns is not None:
                yield Action(until_ns, verbs[1], number)

    def _sought(self, entry: Any, key: Key, numbers: Iterator[int]) -> Iterator[Action]:
        """A pattern, and a subscription to all that its parts match if the client recognises it itself."""
        spec = {"pattern": entry} if isinstance(entry, str) else entry
        if "pattern" not in spec:
            return  # the schema has complained
        from_ns, until_ns = self._in_force(spec, key)
        try:
            pattern = parse_pattern(spec["pattern"])
        except PredicateSyntaxError as error:
            self.source.complain_text(key if isinstance(entry, str) else (*key, "pattern"), error)
            return
        number = next(numbers)
        if not self.factored:
            yield Action(from_ns, "subscribe", number, format_predicate(pattern.union))
        yield Action(from_ns, "subscribe_pattern", number, format_pattern(pattern))
        if until_ns is not None:
            yield Action(until_ns, "unsubscribe", number)

    def _entities(self, name: str, role: str, key: Key, ids: Iterator[int]) -> Iterator[Action]:
        if self.world is None:
            if not self._has_world():
                expected = "workload: dis, or {dis: ...} with the world's properties"
                self.source.complain(key, "nothing says what world they are in", expected)
            return
        last = self.world.squares - 1
        if self._fits({"x": last, "y": last}, entity_name(name, ENTITIES_MAX), key):
            yield from Entities(self.world, self.seed, name, role).actions(ids)

    def _has_world(self) -> bool:
        """Whether the scenario names a world, be it in shape or not."""
        written = self.source.value.get("workload")
        return written is not None and (not isinstance(written, dict) or DIS in written)

    def _can_be_advertised(self, text: str, key: Key) -> bool:
        if text and declares_nothing(parse_predicate(text)):
            message = f"{text} declares no attribute, so no message but the empty one is within it"
            self.source.complain(key, message, "constraints on all attributes that will be published")
            return False
        return True

    def _in_force(self, spec: Mapping[str, Any], key: Key) -> tuple[int, int | None]:
        if "during" in spec:
            if "at" in spec or "until" in spec:
                self.source.complain(key, "during, and at or until, both say when", "one of them")
            phase = self.times.phase(spec["during"], (*key, "during"))
            return (phase.start_ns, phase.end_ns) if phase else (BEFORE_START_NS, None)
        at_ns = self.times.moment(spec["at"], (*key, "at")) if "at" in spec else BEFORE_START_NS
        if "until" not in spec:
            return at_ns, None
        until_ns = self.times.moment(spec["until"], (*key, "until"))
        if until_ns <= at_ns:
            message = "it would end before it begins"
            self.source.complain((*key, "until"), message, "a time after at")
        return at_ns, until_ns

    def _texts(self, spec: Mapping[str, Any], key: Key, where: Key, rng: Random) -> Iterator[str]:
        """The predicates of one entry."""
        written = self.source.written(key)
        if isinstance(written, Mapping) and ("predicate" in written) == ("generate" in written):
            message = (
                "the key predicate is missing" if "predicate" not in written else "there are two predicates"
            )
            self.source.complain(key, message, "predicate: what is wanted, or generate: how many filters")
            return
        times = spec.get("count", 1)
        if "generate" in spec:
            for _ in range(times if self.generated.works else 0):
                yield self._canonical(self.generated.predicate(spec["generate"]), key)
        elif "predicate" in spec:
            yield from self._from_template(spec, key, where, times, rng)

    def _from_template(
        self, spec: Mapping[str, Any], key: Key, where: Key, times: int, rng: Random
    ) -> Iterator[str]:
        text = spec["predicate"]
        if "draw" not in spec:
            yield from [self._canonical(text, where)] * times
            return
        draws = read_draws(self.source, spec["draw"], (*key, "draw"), rng)
        if draws is None or not self._all_used(draws, text, (*key, "draw")):
            return
        for n in range(times):
            filled = _HOLE.sub(lambda hole, n=n: _filled(hole, draws, n), text)  # type: ignore[misc]
            canonical = self._canonical(filled, where)
            if not canonical:
                return  # one complaint an entry
            yield canonical

    def _all_used(self, draws: Mapping[str, DrawValue], text: str, key: Key) -> bool:
        holes = {hole[1] for hole in _HOLE.finditer(text)}
        for name in draws:
            if name not in holes:
                self.source.complain(
                    (*key, name), f"the predicate has no {{{name}}}", f"{{{name}}} in its text"
                )
        return holes >= set(draws)

    def _canonical(self, text: str, key: Key) -> str:
        found = self._predicates.get(text)
        if found is None:
            try:
                found = format_predicate(parse_predicate(text))
            except PredicateSyntaxError as error:
                self.source.complain_text(key, error)
                found = ""
            self._predicates[text] = found
        return found

    def _publications(self, spec: Mapping[str, Any], key: Key, seed: str) -> Iterator[Action]:
        times = due_times(self.source, spec, key, self.times, Random(f"{seed}/arrivals"))
        where: Key = (*key, "message")
        draw = self._draw(spec, key, where, Random(seed))
        payload = _payload(spec.get("payload", ""))
        for n, at_ns in enumerate(times):
            message = draw(n) if draw else None
            if message is None or not self._fits(message, payload, where):
                return  # one complaint a publication, not one a message
            yield Action(at_ns, "publish", text=format_message(message), payload=payload)

    def _draw(self, spec: Mapping[str, Any], key: Key, where: Key, rng: Random) -> Draw | None:
        written = self.source.written(key)
        if ("message" in written) == ("generate" in written):
            message = "the key message is missing" if "message" not in written else "there are two messages"
            self.source.complain(key, message, "message: what to publish, or generate: true")
            return None
        if "generate" in spec and self.generated.works:
            return lambda _n: self.generated.message()
        return read_message(self.source, spec["message"], where, rng) if "message" in spec else None

    def _fits(self, message: Mapping[str, Value], payload: str, key: Key) -> bool:
        complaint = self.room.complaint(message, payload)
        if complaint:
            self.source.complain(key, *complaint)
        return complaint is None


def _payload(spec: str | Mapping[str, int]) -> str:
    """A payload as it is written, or of a size: digits that show where one is."""
    if isinstance(spec, str):
        return spec
    size = spec.get("size", 0)
    return ("0123456789" * (size // 10 + 1))[:size]


def _filled(hole: re.Match[str], draws: Mapping[str, DrawValue], n: int) -> str:
    """A literal in the place of a name that is drawn; other braces stay."""
    if hole[1] not in draws:
        return hole[0]
    return format_value(draws[hole[1]](n))

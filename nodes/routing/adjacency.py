"""Is there a living neighbour at the other end of a link, and does it receive what we send?

Each end sends a HELLO periodically and lists in it the neighbour's incarnation
that it received. The states and their transitions are the table below:

    DOWN    nothing received
    INIT    we receive from the neighbour, it does not (yet) list us
    UP      it does: the two incarnations name a session of the channel

The rule that keeps sessions apart: **an end that gives a session up draws a new
incarnation for that link**, so a pair of incarnations never comes back, however
HELLOs are lost, delayed or repeated. An end lists the incarnations of its
neighbour in the order in which they arrive, so a HELLO that does not list us
while we are UP is an old one and changes nothing. HELLOs of incarnations that the
neighbour has left behind are refused, until silence shows that we were wrong.

Not here: the bytes (`link`), what is sent over the session (`channel`).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from nodes.config import MILLISECOND_NS, InterfaceConfig, NodeConfig
from nodes.routing.effects import Log, Reason
from nodes.wire.packets import Hello

RETIRED_KEPT = 16
"""How many of a neighbour's earlier incarnations are known as stale."""


class State(Enum):
    """How far the neighbours know each other."""

    DOWN = "down"
    INIT = "init"
    UP = "up"


class Event(Enum):
    """What moves an adjacency."""

    ONE_WAY = "a HELLO of the neighbour that does not list us"
    TWO_WAY = "a HELLO, or a packet of the session, that lists us"
    RESTART = "a HELLO with an incarnation of the neighbour not received before"
    SILENCE = "nothing received for the hold time"


class Change(Enum):
    """What the layers above need to know."""

    OPENED = "opened"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the table: the next state, and whether to send a HELLO and draw a new incarnation at once."""

    state: State
    hello: bool = False
    renew: bool = False


TRANSITIONS: Mapping[tuple[State, Event], Step] = {
    (State.DOWN, Event.ONE_WAY): Step(State.INIT, hello=True),
    (State.DOWN, Event.TWO_WAY): Step(State.UP, hello=True),
    (State.INIT, Event.ONE_WAY): Step(State.INIT, hello=True),
    (State.INIT, Event.TWO_WAY): Step(State.UP, hello=True),
    (State.INIT, Event.RESTART): Step(State.DOWN),
    (State.INIT, Event.SILENCE): Step(State.DOWN, hello=True, renew=True),
    (State.UP, Event.ONE_WAY): Step(State.UP),
    (State.UP, Event.TWO_WAY): Step(State.UP),
    (State.UP, Event.RESTART): Step(State.DOWN, renew=True),
    (State.UP, Event.SILENCE): Step(State.DOWN, hello=True, renew=True),
}


class Adjacency:
    """One end of one link."""

    def __init__(
        self, node: NodeConfig, interface: InterfaceConfig, incarnation: int, rng: random.Random
    ) -> None:
        self.state = State.DOWN
        self.incarnation = incarnation
        self.peer_incarnation = 0
        self.log: list[Log] = []
        self._node = node
        self._interface = interface
        self._rng = rng
        self._retired: deque[int] = deque(maxlen=RETIRED_KEPT)
        self._expires_at: int | None = None
        self.received_ns = 0
        """When something of the neighbour last arrived."""
        self._peer_hold_ns = 0
        self._hello_at = 0
        self._unexpected: set[Reason] = set()

    @property
    def up(self) -> bool:
        """Whether both ends receive each other."""
        return self.state is State.UP

    def refusal(self, hello: Hello) -> Reason | None:
        """Why this HELLO is not our neighbour's, if so; an unexpected sender is logged once a session."""
        interface = self._interface
        if (hello.node, hello.role) == (interface.peer_id, interface.peer_role):
            return Reason.STALE_HELLO if hello.incarnation in self._retired else None
        reason = Reason.OWN_ID if hello.node == self._node.node_id else Reason.WRONG_PEER
        if reason not in self._unexpected:
            self._unexpected.add(reason)
            self._log_unexpected(hello)
        return reason

    def receive(self, now_ns: int, hello: Hello) -> list[Change]:
        """Take a HELLO that was not refused."""
        changes = []
        if self.peer_incarnation not in (0, hello.incarnation):
            self._retired.append(self.peer_incarnation)
            changes += self._step(now_ns, Event.RESTART)
        self.peer_incarnation = hello.incarnation
        self._peer_hold_ns = hello.hold_time_ms * MILLISECOND_NS
        self._expires_at, self.received_ns = now_ns + self._peer_hold_ns, now_ns
        listed = (hello.seen_node, hello.seen_incarnation) == (self._node.node_id, self.incarnation)
        return changes + self._step(now_ns, Event.TWO_WAY if listed else Event.ONE_WAY)

    def prove(self, now_ns: int) -> list[Change]:
        """A packet of the session came: the neighbour lives and receives what we send, HELLO or no HELLO."""
        self._expires_at, self.received_ns = now_ns + self._peer_hold_ns, now_ns
        return [] if self.state is State.UP else self._step(now_ns, Event.TWO_WAY)

    def give_up(self, now_ns: int) -> list[Change]:
        """End the session from our side, as after silence; a new one will follow."""
        return self._step(now_ns, Event.SILENCE) if self.state is not State.DOWN else []

    def handle_timer(self, now_ns: int) -> list[Change]:
        """End the session with a neighbour that has been silent for its hold time."""
        if self._expires_at is not None and now_ns >= self._expires_at:
            return self._step(now_ns, Event.SILENCE)
        return []

    def next_deadline(self) -> int:
        """When to send a HELLO or give up."""
        return self._hello_at if self._expires_at is None else min(self._hello_at, self._expires_at)

    def take_hello(self, now_ns: int) -> Hello | None:
        """The HELLO to send now, if one is due; the next is due after a jittered interval."""
        if now_ns < self._hello_at:
            return None
        interval_ns = self._node.timers.hello_ms * MILLISECOND_NS
        self._hello_at = now_ns + interval_ns - self._rng.randrange(interval_ns // 4 + 1)
        return Hello(
            role=self._node.role,
            node=self._node.node_id,
            incarnation=self.incarnation,
            hold_time_ms=self._node.timers.hold_ms,
            seen_node=self._interface.peer_id if self.peer_incarnation else 0,
            seen_incarnation=self.peer_incarnation,
        )

    def _step(self, now_ns: int, event: Event) -> list[Change]:
        before, step = self.state, TRANSITIONS[self.state, event]
        self.state = step.state
        if step.hello:
            self._hello_at = now_ns
        if step.renew:
            self.incarnation = draw_incarnation(self._rng)
        if step.state is State.DOWN:
            self.peer_incarnation, self._expires_at = 0, None
        if event is Event.SILENCE:
            # What we took for its next life may have been an earlier one that arrived late.
            self._retired.clear()
        return self._changed(before, event)

    def _changed(self, before: State, event: Event) -> list[Change]:
        if (before is State.UP) is self.up:
            return []
        self._unexpected.clear()
        self._note("adjacency_up" if self.up else "adjacency_down", why=event.value)
        return [Change.OPENED if self.up else Change.CLOSED]

    def _log_unexpected(self, hello: Hello) -> None:
        expected = f"node {self._interface.peer_id} ({self._interface.peer_role.name.lower()})"
        said = f"node {hello.node} ({hello.role.name.lower()})"
        collision = hello.node == self._node.node_id
        event = "node_id_collision" if collision else "wrong_peer"
        advice = "two nodes have one id" if collision else "the cable or the configuration is wrong"
        self._note(event, expected=expected, said=said, why=advice)

    def _note(self, event: str, **fields: object) -> None:
        who = {"interface": self._interface.name, "peer": self._interface.peer_name}
        self.log.append(Log(event, {**who, **fields}))


def draw_incarnation(rng: random.Random) -> int:
    """What names a start of a node, and then each session that it begins after giving one up."""
    return rng.randrange(1, 1 << 64)

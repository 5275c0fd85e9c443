"""Two neighbours as a model: HELLOs are lost, doubled, late and in any order, and ends crash and start again.

The real code of both ends of a link runs. What they send is under way until it arrives or is lost; it may
arrive as late as it likes, and what is under way twice counts once. Time passes for both at once, by the
interval of HELLOs. An end to which something is under way goes silent over it only so often; one to which
nothing is under way does when its hold time is over.

An end that is up also says something in its session, which like a HELLO proves that it lives.

What must hold: **a session never comes back** at an end that has had it, and from every state both come to be
up in the same one. For a while they may be in two, where a HELLO from before a crash comes after one from
after it.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from nodes.config import MILLISECOND_NS, InterfaceConfig, NodeConfig, TimerConfig
from nodes.routing.adjacency import Adjacency, draw_incarnation
from nodes.routing.adjacency import State as Known
from nodes.routing.effects import Send
from nodes.routing.link import Link, LinkUp
from nodes.wire.codec import decode, encode
from nodes.wire.packets import Ack, Hello, Role
from tests.models.machines import Input, Machines, content
from tests.models.network import put
from tests.models.search import Successor

NAMES = ("a", "b")
IDS = (1, 2)
HELLO_MS, HOLD_MS = 1_000, 2_000
TICK_NS = HELLO_MS * MILLISECOND_NS
ROOM = 2
"""So many different packets of one end may be under way."""
LEFT_OUT = (
    (Adjacency, "_expires_at"),  # these two are told as times from now
    (Adjacency, "_hello_at"),
    (Adjacency, "received_ns"),
    (Adjacency, "_rng"),
    (Adjacency, "_node"),
    (Adjacency, "_interface"),
)
Session = tuple[int, int]
"""The incarnations of an end itself and of its neighbour."""


class Counting(random.Random):
    """Draws 1, 2, 3 and so on for incarnations, and for what is jittered the longest wait."""

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn = 0

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """The next number, or no jitter."""
        if stop is None:
            return 0
        self.drawn += 1
        return self.drawn


class End:
    """One end, its clock, and what its incarnations are drawn from."""

    def __init__(self, place: int) -> None:
        self.now_ns = 0
        self.rng = Counting()
        other = 1 - place
        interface = InterfaceConfig(
            0, f"{NAMES[place]}-eth0", "10.0.0.1", "10.0.0.2", NAMES[other], IDS[other], Role.ROUTER
        )
        timers = TimerConfig(hello_ms=HELLO_MS, hold_ms=HOLD_MS)
        self._config = NodeConfig(
            NAMES[place], IDS[place], Role.ROUTER, "model", 0, (interface,), timers=timers
        )
        self.link = self.started()

    def started(self) -> Link:
        """A link as it is when a node starts."""
        return Link(self._config, self._config.interfaces[0], draw_incarnation(self.rng), self.rng)

    @property
    def adjacency(self) -> Adjacency:
        """What is searched."""
        return self.link._adjacency

    @property
    def session(self) -> Session:
        """What it is in, or would be."""
        channel = self.link._channel
        if channel is not None:
            return channel.local, channel.peer
        return self.adjacency.incarnation, self.adjacency.peer_incarnation


class Did(NamedTuple):
    """What an end did: the packets that it sent, and whether a session began."""

    sent: tuple[bytes, ...]
    opened: tuple[Session, ...]


class Look(NamedTuple):
    """What is asked of the state of an end."""

    state: str
    session: Session
    silent_next: bool
    """Whether its hold time is over with the next tick."""
    drawn: int
    """How many incarnations it has had."""


class AdjacencyAdapter:
    """How ends are made, asked and looked at."""

    def make(self, name: Hashable) -> End:
        """An end that has heard nothing yet."""
        return End(NAMES.index(str(name)))

    def give(self, core: End, what: Input) -> Hashable:
        """Let it receive, speak or crash, or time pass."""
        events = []
        match what:
            case ("receive", bytes(packet)):
                events = core.link.receive(core.now_ns, packet)
            case ("speak",):
                core.link.put(encode(Ack(*core.session, 0, 64)))
            case ("crash",):
                core.link = core.started()
            case _:
                core.now_ns += TICK_NS
                if core.link.next_deadline() <= core.now_ns:
                    events = core.link.handle_timer(core.now_ns)
        sent = [each.datagram for each in core.link.take_outputs() if isinstance(each, Send)]
        return Did(tuple(sent), tuple(core.session for each in events if isinstance(each, LinkUp)))

    def content(self, core: End) -> Hashable:
        """What it knows, and from when on it knows it no more."""
        adjacency = core.adjacency
        times = adjacency._expires_at, adjacency._hello_at
        ages = [None if at_ns is None else max(at_ns - core.now_ns, 0) for at_ns in times]
        return content(adjacency, LEFT_OUT, {}), core.link.up, core.session, core.rng.drawn, *ages

    def look(self, core: End) -> Hashable:
        """How far it is, with whom, and for how long without hearing anything."""
        expires_at = core.adjacency._expires_at
        silent_next = expires_at is not None and expires_at <= core.now_ns + TICK_NS
        return Look(core.adjacency.state.name, core.session, silent_next, core.rng.drawn)


class State(NamedTuple):
    """All there is. Of pairs the first is of `a`."""

    ends: tuple[int, int]
    flying: tuple[frozenset[bytes], frozenset[bytes]]
    """What each end has sent that is under way."""
    opened: tuple[frozenset[Session], frozenset[Session]]
    """The sessions that each has had."""
    lost: int = 0
    doubled: int = 0
    late: int = 0
    crashed: int = 0
    spoken: int = 0
    """How often each of this has happened."""

    @property
    def machines(self) -> tuple[int, ...]:
        """The states of all that runs real code."""
        return self.ends


class Neighbourhood:
    """The model.

    Args:
        machines: The ends' states.
        names: So many incarnations of an end are followed.
        lost: So many packets may be lost,
        doubled: arrive and be under way still;
        late: so often may an end go silent over what is under way to it,
        crashed: so often crash and start again,
        spoken: and so often say something in its session.
    """

    def __init__(self, machines: Machines[End], names: int, **most: int) -> None:
        self._machines = machines
        self._names = names
        self._most = most

    def start(self) -> State:
        """Both have just started."""
        a, b = (self._machines.new(name) for name in NAMES)
        nothing = frozenset[bytes](), frozenset[bytes]()
        return State((a, b), nothing, (frozenset[Session](), frozenset[Session]()))

    def successors(self, state: State) -> Iterator[Successor[State]]:
        """All that can happen."""
        if self._beyond(state):
            return
        for place, name in enumerate(NAMES):
            yield from self._packets(state, place)
            spoken = self._spent(state, "spoken")
            if spoken is not None and self._looks(state)[place].state == Known.UP.name:
                yield self._give(f"{name} speaks", spoken, place, ("speak",))
            crashed = self._spent(state, "crashed")
            if crashed is not None:
                yield self._give(f"{name} crashes and starts again", crashed, place, ("crash",))
        yield from self._time(state)

    def quiet(self, state: State) -> bool:
        """Whether both are up in one session, and nothing is under way, or it is not followed any further."""
        if self._beyond(state):
            return True
        looks = self._looks(state)
        up = all(look.state == Known.UP.name for look in looks)
        return up and not any(state.flying) and looks[0].session == looks[1].session[::-1]

    def _beyond(self, state: State) -> bool:
        """Whether an end has had more names than are followed: what comes then is as it was before."""
        return any(look.drawn > self._names for look in self._looks(state))

    def problems(self, state: State) -> Iterable[str]:
        """What is wrong is wrong with a step."""
        del state
        return ()

    def _packets(self, state: State, place: int) -> Iterator[Successor[State]]:
        """What an end has sent arrives, is lost, or arrives and is still under way."""
        for packet in sorted(state.flying[place]):
            gone = state._replace(flying=put(state.flying, place, state.flying[place] - {packet}))
            what, given = f"{NAMES[place]}'s {_described(packet)}", ("receive", packet)
            yield self._give(f"{what} arrives", gone, 1 - place, given)
            lost, twice = self._spent(gone, "lost"), self._spent(state, "doubled")
            if lost is not None:
                yield Successor(f"{what} is lost", lost)
            if twice is not None:
                yield self._give(f"{what} arrives and is still under way", twice, 1 - place, given)

    def _time(self, state: State) -> Iterator[Successor[State]]:
        after: State | None = state
        for place, look in enumerate(self._looks(state)):
            if look.silent_next and state.flying[1 - place]:
                after = None if after is None else self._spent(after, "late")
        if after is None:
            return
        first = self._give("time passes", after, 0, ("tick",))
        second = self._give("time passes", first.state, 1, ("tick",))
        yield second._replace(wrong=first.wrong or second.wrong)

    def _give(self, what: str, state: State, place: int, given: Input) -> Successor[State]:
        after, did = self._machines.step(state.ends[place], given)
        assert isinstance(did, Did)
        had = state.opened[place]
        again = [session for session in did.opened if session in had]
        state = state._replace(
            ends=put(state.ends, place, after),
            flying=put(state.flying, place, _joined(state.flying[place], did.sent)),
            opened=put(state.opened, place, had.union(did.opened)),
        )
        return Successor(what, state, f"{NAMES[place]} is in session {again[0]} again" if again else "")

    def _spent(self, state: State, what: str) -> State | None:
        """The state after one more of these; None if it would be too many."""
        so_far: int = getattr(state, what)
        return None if so_far == self._most[what] else state._replace(**{what: so_far + 1})

    def _looks(self, state: State) -> list[Look]:
        found = [self._machines.looks[end] for end in state.ends]
        assert all(isinstance(look, Look) for look in found)
        return found  # type: ignore[return-value]


class AdjacencyScenario(NamedTuple):
    """What may go wrong, and how often."""

    about: str
    lost: int = 0
    doubled: int = 0
    late: int = 0
    crashed: int = 0
    spoken: int = 0
    names: int = 3

    @property
    def changes(self) -> int:
        """How often something goes wrong."""
        return sum(self.most.values())

    @property
    def most(self) -> dict[str, int]:
        """The same, by name."""
        return {name: value for name, value in self._asdict().items() if name in State._fields}

    def model(
        self, adapter: type[AdjacencyAdapter] = AdjacencyAdapter
    ) -> tuple[Neighbourhood, Machines[End]]:
        """To be searched, with ends as they are or as another adapter makes them."""
        machines = Machines(adapter())
        return Neighbourhood(machines, self.names, **self.most), machines


def _joined(flying: frozenset[bytes], sent: Iterable[bytes]) -> frozenset[bytes]:
    """What is under way now; for what there is no room is lost."""
    for packet in sent:
        flying = flying | {packet} if len(flying) < ROOM else flying
    return flying


def _described(packet: bytes) -> str:
    decoded = decode(packet)
    if isinstance(decoded, Hello):
        return f"HELLO {decoded.incarnation} that lists {decoded.seen_incarnation}"
    assert isinstance(decoded, Ack)
    return f"packet of session {decoded.incarnation}, {decoded.peer_incarnation}"


ADJACENCIES = {
    "adjacency": AdjacencyScenario("an end crashes, and a packet is lost", lost=1, crashed=1, names=4),
    "adjacency-late": AdjacencyScenario(
        "an end goes silent although something is under way; a packet is lost, and one comes again",
        lost=1,
        doubled=1,
        late=1,
    ),
    "adjacency-crashes": AdjacencyScenario(
        "ends crash twice, and what they said before comes late", crashed=2
    ),
    "adjacency-said": AdjacencyScenario(
        "an end crashes; what it said in its session comes late, and once more",
        doubled=1,
        crashed=1,
        spoken=1,
    ),
}

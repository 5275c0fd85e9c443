"""Two ends of a reliable channel as a model: packets come in any order, are lost, doubled, or late.

The real code of both ends runs. Each is to tell the other a few payloads, as soon or as late as it likes. A
packet that is under way arrives at any time, whatever was sent before or after it. So many may be lost, so
many arrive twice, and so often a timer fires although something is still under way; when nothing is, it
fires if it is set. What arrives must be what was sent, whole, once and in its order, and when nothing
happens any more all of it must have arrived.

Time passes when a timer fires, and at no other moment; what a state holds of times is how long ago they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from nodes.config import LimitConfig, TimerConfig
from nodes.routing.channel import Channel, Inbound
from nodes.routing.outbound import Fragment, Outbound
from nodes.wire.codec import decode
from nodes.wire.packets import Ack, Control, Kind
from tests.models.machines import Input, Machines, content
from tests.models.network import put
from tests.models.search import Successor

NAMES = ("a", "b")
ENDS = (11, 12)
"""The incarnations that name the session."""
LEFT_OUT = (
    (Fragment, "sent_ns"),  # these are told as times ago
    (Outbound, "_expires_at"),
    (Inbound, "_acknowledge_at"),
    (Outbound, "retransmissions"),  # a counter
)
Payload = tuple[int, bytes]


class End:
    """One end, its clock, and what has arrived here."""

    def __init__(self, place: int, mtu: int, window: int) -> None:
        limits = LimitConfig(window_packets=window)
        self.channel = Channel(ENDS[place], ENDS[1 - place], mtu, TimerConfig(), limits)
        self.now_ns = 0

    def ages(self) -> Hashable:
        """How long ago its times are."""
        out, in_ = self.channel._out, self.channel._in
        times = [out._expires_at, in_._acknowledge_at]
        ages = [None if time_ns is None else time_ns - self.now_ns for time_ns in times]
        sent = [None if each.sent_ns < 0 else each.sent_ns - self.now_ns for each in out._flights]
        return (*ages, *sent)


class Did(NamedTuple):
    """What an end did: the packets that it sent, and the payloads that it handed up."""

    sent: tuple[bytes, ...]
    arrived: tuple[Payload, ...]


class Look(NamedTuple):
    """What is asked of the state of an end."""

    has_timer: bool
    idle: bool


class ChannelAdapter:
    """How ends are made, asked and looked at."""

    def __init__(self, mtu: int, window: int) -> None:
        self._mtu, self._window = mtu, window

    def make(self, name: Hashable) -> End:
        """An end that was told nothing yet."""
        return End(NAMES.index(str(name)), self._mtu, self._window)

    def give(self, core: End, what: Input) -> Hashable:
        """Let it send or receive, or its timer fire."""
        arrived: list[Payload] = []
        channel = core.channel
        match what:
            case ("send", int(kind), bytes(payload)):
                channel.send(core.now_ns, kind, payload)
            case ("receive", bytes(packet)):
                decoded = decode(packet)
                assert isinstance(decoded, Control | Ack)
                arrived = channel.receive(core.now_ns, decoded)
            case _:
                core.now_ns = max(core.now_ns, channel.next_deadline() or 0)
                channel.handle_timer(core.now_ns)
        channel.drops.clear()
        return Did(tuple(channel.take_packets()), tuple(arrived))

    def content(self, core: End) -> Hashable:
        """All but the time that it is."""
        return content(core.channel, LEFT_OUT, {}), core.ages()

    def look(self, core: End) -> Hashable:
        """Whether something is still to be done."""
        return Look(core.channel.next_deadline() is not None, core.channel.idle)


class State(NamedTuple):
    """All there is. Of pairs the first is of `a`."""

    ends: tuple[int, int]
    flying: tuple[tuple[bytes, ...], tuple[bytes, ...]]
    """What each end has sent that is under way, in an order that means nothing."""
    said: tuple[int, int]
    """How many of its payloads each has given to its channel."""
    arrived: tuple[int, int]
    """How many of them have arrived."""
    lost: int
    doubled: int
    early: int
    """How often each of this has happened."""

    @property
    def machines(self) -> tuple[int, ...]:
        """The states of all that runs real code."""
        return self.ends


class Between:
    """The model.

    Args:
        machines: The ends' states.
        payloads: What each end tells the other.
        lost: So many packets may be lost,
        doubled: arrive twice,
        early: and so often timers may fire while something is under way.
    """

    def __init__(
        self,
        machines: Machines[End],
        payloads: tuple[tuple[bytes, ...], tuple[bytes, ...]],
        *,
        lost: int,
        doubled: int,
        early: int,
    ) -> None:
        self._machines = machines
        self._payloads = payloads
        self._lost, self._doubled, self._early = lost, doubled, early

    def start(self) -> State:
        """Nothing was said yet."""
        a, b = (self._machines.new(name) for name in NAMES)
        return State((a, b), ((), ()), (0, 0), (0, 0), 0, 0, 0)

    def successors(self, state: State) -> Iterator[Successor[State]]:
        """All that can happen."""
        for place in (0, 1):
            said = state.said[place]
            if said < len(self._payloads[place]):
                after = state._replace(said=put(state.said, place, said + 1))
                given = ("send", int(Kind.INTEREST), self._payloads[place][said])
                yield self._give(f"{NAMES[place]} says {said + 1}", after, place, given)
            yield from self._packets(state, place)
            yield from self._timer(state, place)

    def quiet(self, state: State) -> bool:
        """Whether all was said, nothing is under way, and no timer is set."""
        said = all(n == len(payloads) for n, payloads in zip(state.said, self._payloads, strict=True))
        return said and not any(state.flying) and not any(look.has_timer for look in self._looks(state))

    def problems(self, state: State) -> Iterable[str]:
        """Where nothing happens any more, all must have arrived, and both ends know it."""
        if not self.quiet(state):
            return
        if state.arrived != state.said:
            yield f"{state.arrived} of {state.said} payloads have arrived"
        if not all(look.idle for look in self._looks(state)):
            yield "an end waits for what will not come"

    def _packets(self, state: State, place: int) -> Iterator[Successor[State]]:
        """What an end has sent arrives, is lost, or arrives and is still under way."""
        flying = state.flying[place]
        for packet in dict.fromkeys(flying):
            without = list(flying)
            without.remove(packet)
            gone = state._replace(flying=put(state.flying, place, tuple(without)))
            what, given = _described(packet), ("receive", packet)
            yield self._give(f"{NAMES[place]}'s {what} arrives", gone, 1 - place, given)
            if state.lost < self._lost:
                yield Successor(f"{NAMES[place]}'s {what} is lost", gone._replace(lost=state.lost + 1))
            if state.doubled < self._doubled:
                twice = state._replace(doubled=state.doubled + 1)
                yield self._give(f"{NAMES[place]}'s {what} arrives once", twice, 1 - place, given)

    def _timer(self, state: State, place: int) -> Iterator[Successor[State]]:
        if not self._looks(state)[place].has_timer:
            return
        if any(state.flying):
            if state.early == self._early:
                return
            state = state._replace(early=state.early + 1)
        yield self._give(f"{NAMES[place]}'s timer fires", state, place, ("timer",))

    def _give(self, what: str, state: State, place: int, given: Input) -> Successor[State]:
        after, did = self._machines.step(state.ends[place], given)
        assert isinstance(did, Did)
        flying = tuple(sorted((*state.flying[place], *did.sent)))
        state = state._replace(ends=put(state.ends, place, after), flying=put(state.flying, place, flying))
        other, wrong = 1 - place, ""
        for _, payload in did.arrived:
            at = state.arrived[other]
            if self._payloads[other][at : min(at + 1, state.said[other])] != (payload,):
                wrong = f"{payload!r} arrives as payload {at + 1} of {NAMES[other]}"
            state = state._replace(arrived=put(state.arrived, other, at + 1))
        return Successor(what, state, wrong)

    def _looks(self, state: State) -> list[Look]:
        found = [self._machines.looks[end] for end in state.ends]
        assert all(isinstance(look, Look) for look in found)
        return found  # type: ignore[return-value]


class ChannelScenario(NamedTuple):
    """What is said, and what may go wrong."""

    about: str
    payloads: tuple[tuple[bytes, ...], tuple[bytes, ...]]
    lost: int = 0
    doubled: int = 0
    early: int = 0
    mtu: int = 1500
    window: int = 64

    @property
    def changes(self) -> int:
        """How much happens at the same time: what is said, and what goes wrong."""
        return sum(map(len, self.payloads)) + self.lost + self.doubled + self.early

    def model(self, adapter: type[ChannelAdapter] = ChannelAdapter) -> tuple[Between, Machines[End]]:
        """To be searched, with ends as they are or as another adapter makes them."""
        machines = Machines(adapter(self.mtu, self.window))
        return Between(
            machines, self.payloads, lost=self.lost, doubled=self.doubled, early=self.early
        ), machines


def _described(packet: bytes) -> str:
    decoded = decode(packet)
    if isinstance(decoded, Control):
        return f"packet {decoded.sequence} (ack {decoded.ack})"
    assert isinstance(decoded, Ack)
    return f"ack {decoded.ack}"


def _many(count: int, size: int = 1) -> tuple[bytes, ...]:
    return tuple(bytes([n]) * size for n in range(1, count + 1))


SMALL_MTU = 28 + 32 + 4
"""Payloads above four bytes need several packets."""
CHANNELS = {
    "channel": ChannelScenario(
        "three payloads one way and one the other, over a link that loses two packets and doubles one",
        (_many(3), _many(1)),
        lost=2,
        doubled=1,
    ),
    "channel-late": ChannelScenario(
        "two payloads each way, of which packets are late, so that timers fire too soon",
        (_many(2), _many(2)),
        lost=1,
        early=2,
    ),
    "channel-parts": ChannelScenario(
        "two payloads of two packets each, of which the window lets two through at a time",
        (_many(2, 6), ()),
        lost=2,
        doubled=1,
        early=1,
        mtu=SMALL_MTU,
        window=2,
    ),
}

"""A client that executes a script and what live control asks for, and writes down what happens to it.

Used unchanged by the simulator and the daemon. The events are those of
`docs/run-directory.md`, as dicts with their keys in its order; what live
control does is an event like any other.

Not here: reading scripts and writing events to files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType

from nodes.client.core import ClientCore, NotAttached
from nodes.client.deliveries import Deliveries
from nodes.client.events import EventRecord, Events
from nodes.config import ACTIONS, Action, LinkKey
from nodes.model import (
    Components,
    Occurrence,
    Pattern,
    Predicate,
    PredicateSyntaxError,
    UsageError,
    Value,
    advertised,
    parse_message,
    parse_pattern,
    parse_predicate,
)
from nodes.patterns.recogniser import Recogniser
from nodes.routing.effects import Deliver, DeliverMatch, Log, Output
from nodes.scheme_catalog import factors_patterns
from nodes.wire.packets import Message

ACTIONS_PER_CALL = 256
"""So that a long burst leaves the shell room for packets and requests: the rest is due at once again."""
_SUBSCRIBING = ("subscribe", "subscribe_pattern")


@dataclass(frozen=True, slots=True)
class _Step:
    at_ns: int
    do: str
    number: int
    """Of the subscription or advertisement."""
    predicate: Predicate | None = None
    pattern: Pattern | None = None
    message: Mapping[str, Value] | None = None
    payload: bytes = b""


class ScriptedClient:
    """A `Core` around a client's core.

    Actions before time zero are done, in order, as soon as the client is
    attached; the others at their time after `start`.

    Raises:
        UsageError: An action is not one, or its text is no predicate or message.
    """

    def __init__(self, core: ClientCore, actions: Sequence[Action]) -> None:
        self.core = core
        steps = [_parse(core.config.name, number, action) for number, action in enumerate(actions, 1)]
        self._first = deque(step for step in steps if step.at_ns < 0)
        self._timed = deque(sorted((s for s in steps if s.at_ns >= 0), key=lambda step: step.at_ns))
        self.deliveries = Deliveries()
        self._last_id = max((step.number for step in steps if step.do in _SUBSCRIBING), default=0)
        self._last_advertised = max((step.number for step in steps if step.do == "advertise"), default=0)
        self._zero_ns: int | None = None
        self._events = Events(core.config.name)
        self._wanted: dict[int, Predicate] = {}
        """The subscriptions in force."""
        self._advertised: dict[int, Predicate] = {}
        """The advertisements."""
        self._sought: dict[int, Pattern] = {}
        """The patterns, by their subscriptions."""
        self._recogniser = Recogniser()
        """Of patterns that no router seeks for us."""
        self._factored = factors_patterns(core.config.scheme_options)
        self._failed = 0
        self._outputs: list[Output] = []

    def start(self, zero_ns: int) -> None:
        """The script's time zero; it may be yet to come."""
        self._zero_ns = zero_ns

    def publish(self, now_ns: int, text: str) -> EventRecord:
        """Publish a message now; returns the event.

        Raises:
            PredicateSyntaxError, UsageError: The text is no message that can be sent.
            NotAttached: There is no router to give it to.
        """
        return self._execute(now_ns, _Step(now_ns, "publish", 0, message=_message(text)))

    def subscribe(self, now_ns: int, text: str, kept: int) -> EventRecord:
        """Subscribe now, and keep up to `kept` deliveries for `deliveries.take`; returns the event.

        The subscription gets an id that no action of the script has.

        Raises:
            PredicateSyntaxError, UsageError: The text is no predicate, or there are too many listeners.
        """
        predicate = parse_predicate(text)
        subscription = self._last_id + 1
        self.deliveries.listen(subscription, predicate, kept)
        self._last_id = subscription
        return self._execute(now_ns, _Step(now_ns, "subscribe", subscription, predicate))

    def seek(self, now_ns: int, text: str, kept: int) -> EventRecord:
        """Seek a pattern now, and keep up to `kept` matches for `deliveries.take`; returns the event.

        Raises:
            PredicateSyntaxError, UsageError: The text is no pattern, or there are too many listeners.
        """
        pattern = parse_pattern(text)
        subscription = self._last_id + 1
        self.deliveries.listen(subscription, Predicate(), kept)
        self._last_id = subscription
        if not self._factored:
            self._execute(now_ns, _Step(now_ns, "subscribe", subscription, pattern.union))
        return self._execute(now_ns, _Step(now_ns, "subscribe_pattern", subscription, pattern=pattern))

    def why_refused(self, subscription: int) -> str | None:
        """As of the core: why our router has not taken the subscription or the pattern of this id."""
        return self.core.why_refused(subscription)

    def unsubscribe(self, now_ns: int, subscription: int) -> EventRecord:
        """Withdraw a subscription now; returns the event.

        Raises:
            UsageError: There is none of this id.
        """
        event = self._execute(now_ns, _Step(now_ns, "unsubscribe", subscription))
        self.deliveries.leave(subscription)
        return event

    def advertise(self, now_ns: int, text: str) -> EventRecord:
        """Advertise something now, under an id that no action of the script has; returns the event.

        Raises:
            PredicateSyntaxError, UsageError: The text is no predicate.
        """
        predicate = parse_predicate(text)
        number = self._last_advertised + 1
        event = self._execute(now_ns, _Step(now_ns, "advertise", number, predicate))
        self._last_advertised = number
        return event

    def advertises(self, text: str) -> bool:
        """Whether a message is within what is advertised now, and permitted as far as is known."""
        message = _message(text)
        return any(
            advertised(each, message)
            for number, each in self._advertised.items()
            if self.core.why_not_advertised(number) is None
        )

    def unadvertise(self, now_ns: int, advertisement: int) -> EventRecord:
        """Withdraw an advertisement now; returns the event.

        Raises:
            UsageError: There is none of this id.
        """
        return self._execute(now_ns, _Step(now_ns, "unadvertise", advertisement))

    def step_aside(self, now_ns: int) -> None:
        """Withdraw all that is held, for as long as a program takes the client's place."""
        for subscription in dict.fromkeys([*self._wanted, *self._sought]):
            self._withdraw(now_ns, subscription)
            self._events.unsubscribed(now_ns, subscription)
        for advertisement in self._advertised:
            self.core.unadvertise(now_ns, advertisement)
            self._events.unadvertised(now_ns, advertisement)

    def come_back(self, now_ns: int, core: ClientCore, events: int) -> None:
        """Go on, with a new core and what was held before; there are so many events by now."""
        self.core, self._events = core, Events(core.config.name, events)
        for advertisement, within in self._advertised.items():
            core.advertise(now_ns, within, advertisement)
            self._events.advertised(now_ns, advertisement, within)
        for subscription, predicate in self._wanted.items():
            core.subscribe(now_ns, predicate, subscription)
            self._events.subscribed(now_ns, subscription, predicate)
        for subscription, pattern in self._sought.items():
            self._seek(now_ns, subscription, pattern)
            self._events.sought(now_ns, subscription, pattern)

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """Take one packet that arrived on an interface."""
        self.core.receive(now_ns, interface, packet)
        self._after(now_ns, packet)

    def use_keys(self, now_ns: int, interface: int, keys: tuple[LinkKey, ...]) -> None:
        """The keys of the link are these now."""
        self.core.use_keys(now_ns, interface, keys)

    def use_signers(self, signers: Mapping[int, bytes]) -> None:
        """As the core."""
        self.core.use_signers(signers)

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due, the script's actions included."""
        deadline = self.core.next_deadline()
        if deadline is not None and deadline <= now_ns:
            self.core.handle_timer(now_ns)
        for _ in range(ACTIONS_PER_CALL):
            if not self._timed or self._zero_ns is None or self._due() > now_ns:
                break
            self._do(now_ns, self._timed.popleft())
        self._recogniser.handle_timer(now_ns)
        self._after(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        due_ns = self._due() if self._timed and self._zero_ns is not None else None
        deadlines = (self.core.next_deadline(), self._recogniser.next_deadline(), due_ns)
        return min((each for each in deadlines if each is not None), default=None)

    def take_outputs(self) -> list[Output]:
        """What is to be done, in order."""
        outputs, self._outputs = self._outputs, []
        return outputs + self.core.take_outputs()

    @property
    def recognising(self) -> bool:
        """Whether messages are held back for patterns."""
        return self._recogniser.next_deadline() is not None

    def take_events(self) -> list[EventRecord]:
        """What has happened since the last call."""
        return self._events.take()

    def status(self) -> dict[str, object]:
        """The core's status and how far the script is."""
        return {
            **self.core.status(),
            "started": self._zero_ns is not None,
            "script_remaining": len(self._first) + len(self._timed),
            "script_failed": self._failed,
            **self._patterns_status(),
        }

    def _patterns_status(self) -> dict[str, object]:
        """Nothing of clients that never sought a pattern."""
        recogniser, counts = self._recogniser, self._recogniser.counts
        if self._factored or (not self._sought and not counts):
            return {}
        return {
            "recognising": self.recognising,
            "recogniser": {
                "sought": len(recogniser),
                "held": recogniser.held,
                **dict(sorted(counts.items())),
            },
        }

    def _due(self) -> int:
        assert self._zero_ns is not None
        return self._zero_ns + self._timed[0].at_ns

    def _after(self, now_ns: int, packet: bytes = b"") -> None:
        while self._first and self.core.attached:
            self._do(now_ns, self._first.popleft())
        for output in self.core.take_outputs():
            self._outputs.append(output)
            if isinstance(output, Deliver):
                self._note_delivery(now_ns, output, packet)
            elif isinstance(output, DeliverMatch):
                self._note_match(now_ns, output.pattern, tuple(map(_occurrence, output.messages)))
        for number, components in self._recogniser.take():
            self._note_match(now_ns, number, components)

    def _do(self, now_ns: int, step: _Step) -> None:
        try:
            self._execute(now_ns, step)
        except (NotAttached, UsageError) as error:
            self._failed += 1
            self._outputs.append(Log("action_failed", {"do": step.do, "why": str(error)}))

    def _execute(self, now_ns: int, step: _Step) -> EventRecord:
        match step:
            case _Step(do="subscribe", number=number, predicate=Predicate() as predicate):
                self.core.subscribe(now_ns, predicate, number)
                self._wanted[number] = predicate
                return self._events.subscribed(now_ns, number, predicate)
            case _Step(do="subscribe_pattern", number=number, pattern=Pattern() as pattern):
                self._seek(now_ns, number, pattern)
                self._sought[number] = pattern
                return self._events.sought(now_ns, number, pattern)
            case _Step(do="advertise", number=number, predicate=Predicate() as predicate):
                self.core.advertise(now_ns, predicate, number)
                self._advertised[number] = predicate
                return self._events.advertised(now_ns, number, predicate)
            case _Step(do="unadvertise", number=number):
                self.core.unadvertise(now_ns, number)
                self._advertised.pop(number, None)
                return self._events.unadvertised(now_ns, number)
        if step.message is not None:
            identity = self.core.publish(now_ns, step.message, step.payload)
            return self._events.published(now_ns, identity, step.message)
        self._withdraw(now_ns, step.number)
        self._wanted.pop(step.number, None)
        self._sought.pop(step.number, None)
        return self._events.unsubscribed(now_ns, step.number)

    def _seek(self, now_ns: int, number: int, pattern: Pattern) -> None:
        """Have our router seek it, or recognise it in what our subscription of this number brings."""
        if self._factored:
            self.core.subscribe_pattern(now_ns, pattern, number)
        else:
            self._recogniser.add(number, pattern)

    def _withdraw(self, now_ns: int, number: int) -> None:
        if self._factored and number in self._sought:
            self.core.unsubscribe_pattern(now_ns, number)
        else:
            self.core.unsubscribe(now_ns, number)
            self._recogniser.remove(number)

    def _note_match(self, now_ns: int, number: int, components: Components) -> None:
        self._events.recognised(now_ns, number, components)
        messages = [each.message for each in components if isinstance(each, _Delivered)]
        self.deliveries.note_match(now_ns, number, messages)

    def _note_delivery(self, now_ns: int, output: Deliver, packet: bytes) -> None:
        self.deliveries.note(now_ns, output.message)
        m = output.message
        if self._sought:
            self._recogniser.receive(now_ns, [(_occurrence(m), packet)])
        self._events.delivered(now_ns, m.source, m.sequence, m.hop_count, m.publish_time_ns)


class _Delivered(Occurrence):
    """An occurrence that knows its message."""

    message: Message


def _occurrence(message: Message) -> Occurrence:
    made = _Delivered(message.publish_time_ns, message.source, message.sequence)
    made.message = message
    return made


@lru_cache(maxsize=1024)
def _message(text: str) -> Mapping[str, Value]:
    """Scripts repeat themselves often."""
    return MappingProxyType(parse_message(text))


def _parse(client: str, number: int, action: Action) -> _Step:
    step = partial(_Step, action.at_ns, action.do)
    try:
        match action.do:
            case "subscribe" | "advertise":
                return step(action.subscription, predicate=parse_predicate(action.text))
            case "subscribe_pattern":
                return step(action.subscription, pattern=parse_pattern(action.text))
            case "publish":
                return step(0, message=_message(action.text), payload=action.payload.encode())
            case "unsubscribe" | "unadvertise":
                return step(action.subscription)
    except (PredicateSyntaxError, UsageError) as error:
        raise UsageError(f"{client}, action {number} of the script: {error}") from error
    raise UsageError(
        f"{client}, action {number} of the script: cannot {action.do!r}; expected one of {', '.join(ACTIONS)}"
    )

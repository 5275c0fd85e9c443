"""The tables `publications`, `deliveries`, `crossings` and `verdicts`, by docs/run-directory.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.judge.judging.calm import Calm
from tests.judge.judging.owed import Answer, Rules
from tests.judge.judging.run import Run, Sight
from tests.judge.judging.texts import Message, read_message

Id = tuple[int, int]
"""Of a message: source and sequence."""
Pair = tuple[int, int, int]
"""A message and a client."""
Crossing = tuple[int, int, int, int, int]
"""A message, the router that sent it, the node it was sent to, and its hop count."""


@dataclass(slots=True)
class Publication:
    """A message that was captured where it entered, or that its client announced."""

    node: int | None = None
    time_ns: int | None = None
    publish_time_ns: int | None = None
    content: Message | None = None
    announced_ns: int | None = None
    message: str | None = None
    hop_count: int | None = None

    @property
    def published_ns(self) -> int:
        """When it counts as published."""
        time_ns = self.announced_ns if self.time_ns is None else self.time_ns
        assert time_ns is not None, "somebody has seen it"
        return time_ns


@dataclass(slots=True)
class Delivery:
    """What left a router towards a client: the first copy, and how many there were."""

    node: int
    time_ns: int
    hop_count: int
    copies: int
    latency_ns: int | None


@dataclass(slots=True)
class Passage:
    """What is known of a crossing; what only arrived, as far as is captured, has no copies."""

    access: bool
    time_ns: int | None
    copies: int
    received_ns: int | None
    arrived: int
    wasted: bool = False
    """Of crossings between routers."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of a pair."""

    verdict: str | None
    owed: bool | None
    wanted: bool
    reason: str | None
    copies: int
    reports: int


@dataclass(frozen=True, slots=True)
class Tables:
    """All of them."""

    publications: Mapping[Id, Publication]
    deliveries: Mapping[Pair, Delivery]
    crossings: Mapping[Crossing, Passage]
    verdicts: Mapping[Pair, Row]
    answers: Mapping[Pair, Answer]
    """What was due."""
    outside: frozenset[Id]
    """Publications outside of all that their clients may have advertised."""
    forbidden: frozenset[Id]
    """Those that the policy does not permit."""


def tables_of(run: Run, calm: Calm) -> Tables:
    """The tables of a run."""
    publications = _publications(run)
    deliveries = _deliveries(run, publications)
    rules = Rules(run, calm)
    answers = {
        (*key, client): answer
        for key, p in publications.items()
        if p.content is not None
        for client, answer in rules.answers(key[0], p.published_ns, p.content).items()
    }
    forbidden = {key for key, p in publications.items() if not rules.permitted(key[0], p.content)}
    outside = {
        key for key, p in publications.items() if not rules.advertised(key[0], p.published_ns, p.content)[1]
    } - forbidden
    crossings = _crossings(run, deliveries)
    verdicts = _verdicts(run, answers, deliveries)
    return Tables(
        publications, deliveries, crossings, verdicts, answers, frozenset(outside), frozenset(forbidden)
    )


def _publications(run: Run) -> dict[Id, Publication]:
    found: dict[Id, Publication] = {}
    for sight in run.captures.messages:
        packet = sight.packet
        if sight.sent or not sight.at_client or packet.source != sight.peer:
            continue
        p = found.setdefault((packet.source, packet.sequence), Publication())
        if p.time_ns is None or sight.time_ns < p.time_ns:
            p.node, p.time_ns, p.publish_time_ns = sight.node, sight.time_ns, packet.publish_time_ns
            p.content, p.hop_count = packet.attributes, packet.hop_count
    for event in run.of("publish"):
        p = found.setdefault((event["source"], event["sequence"]), Publication())
        p.announced_ns, p.message = event["time_ns"], event["message"]
        if p.content is None:
            p.content = read_message(event["message"])
    return found


def _deliveries(run: Run, publications: Mapping[Id, Publication]) -> dict[Pair, Delivery]:
    found: dict[Pair, Delivery] = {}
    for sight in sorted(_sent_to_clients(run), key=lambda s: s.time_ns):
        key = sight.packet.source, sight.packet.sequence
        if known := found.get((*key, sight.peer)):
            known.copies += 1
            continue
        published = publications.get(key)
        entered_ns = published.time_ns if published else None
        latency_ns = None if entered_ns is None else sight.time_ns - entered_ns
        found[(*key, sight.peer)] = Delivery(sight.node, sight.time_ns, sight.packet.hop_count, 1, latency_ns)
    return found


def _sent_to_clients(run: Run) -> Iterator[Sight]:
    return (s for s in run.captures.messages if s.sent and s.at_client)


def _crossings(run: Run, deliveries: Mapping[Pair, Delivery]) -> dict[Crossing, Passage]:
    found: dict[Crossing, Passage] = {}
    for sight in sorted(run.captures.messages, key=lambda s: s.time_ns):
        if not sight.sent and sight.at_client:
            continue
        ends = (sight.node, sight.peer) if sight.sent else (sight.peer, sight.node)
        key = sight.packet.source, sight.packet.sequence, *ends, sight.packet.hop_count
        passage = found.setdefault(key, Passage(sight.at_client, None, 0, None, 0))
        if sight.sent:
            passage.copies += 1
            passage.time_ns = sight.time_ns if passage.time_ns is None else passage.time_ns
        else:
            passage.arrived += 1
            passage.received_ns = sight.time_ns if passage.received_ns is None else passage.received_ns
    _note_waste(found, deliveries)
    return found


def _note_waste(found: Mapping[Crossing, Passage], deliveries: Mapping[Pair, Delivery]) -> None:
    """From the last hop to the first: what came to v at hop h leaves v at hop h + 1."""
    useful = {(source, sequence, d.node, d.hop_count) for (source, sequence, _), d in deliveries.items()}
    for key in sorted(found, key=lambda key: -key[4]):
        source, sequence, a, b, hop = key
        passage = found[key]
        if not passage.access:
            passage.wasted = (source, sequence, b, hop + 1) not in useful
            if passage.copies and not passage.wasted:
                useful.add((source, sequence, a, hop))


def _verdicts(
    run: Run, answers: Mapping[Pair, Answer], deliveries: Mapping[Pair, Delivery]
) -> dict[Pair, Row]:
    reports = Counter((e["source"], e["sequence"], run.clients[e["node"]]) for e in run.of("deliver"))
    blind = {i["peer_id"] for i in run.access if i["interface"] in run.captures.incomplete}
    nothing, found = Answer(False, None, None), {}
    for pair in {*answers, *deliveries, *reports}:
        answer = answers.get(pair, nothing)
        copies = deliveries[pair].copies if pair in deliveries else 0
        if answer.wanted or copies or reports[pair] or answer.owed:
            verdict = _verdict(answer, copies, reports[pair], pair[2] in blind)
            found[pair] = Row(verdict, answer.owed, answer.wanted, answer.reason, copies, reports[pair])
    return found


def _verdict(answer: Answer, copies: int, reports: int, blind: bool) -> str | None:
    if copies and answer.owed is None:
        return "spurious"
    if copies:
        return "duplicate" if copies > 1 and answer.owed else "delivered"
    if answer.owed:
        return "unknown" if blind else "missing"
    return "lost" if answer.wanted and not reports else None

"""What is fuzzed of proofs: seals of a link's packets, seals of messages, signatures of records.

Somebody without keys turns, cuts, repeats and invents what crosses a link; nothing of that may be taken. A
neighbour with keys of its own says whatever it likes in the names of others; nothing of that may be held.
Not here: the compiled seals by themselves (`harnesses/seal.cpp`).
"""

from __future__ import annotations

from collections.abc import Iterator

from fastpath.seal import MessageSeals
from nodes.config import LinkKey, Messages, Neighbours
from nodes.routing.effects import MessageKey
from nodes.routing.guard import SEALED, TYPE_AT, Guard
from nodes.routing.message_guard import MessageGuard
from nodes.routing.router import Router
from nodes.wire.codec import WireError
from tests.attacks.bench import FORGER, R2, Bench
from tests.routing.fabric import EPOCH_NS, MS, configure, line
from tests.routing.sealed import SECRET, sealed_node
from tests.routing.signed import signer

Step = tuple[int, int, bytes]
NODES = {name: sealed_node(node, Neighbours.REQUIRED) for name, node in configure(line(2)).items()}
MESSAGE_KEYS = [
    MessageKey(number, session, bytes([number, session] * 16)) for number in (1, 2) for session in (5, 6)
]
MOST_STEPS = 40


def steps(data: bytes) -> Iterator[Step]:
    """What, its size, and so many bytes."""
    at = 0
    for _ in range(MOST_STEPS):
        if at + 2 > len(data):
            return
        what, size = data[at], data[at + 1]
        yield what, size, data[at + 2 : at + 2 + size]
        at += 2 + size


def turned(packet: bytes, by: bytes) -> bytes:
    """A packet with bits turned here and there."""
    changed = bytearray(packet)
    for number, each in enumerate(by if packet else b""):
        changed[(number * 37 + len(by)) % len(changed)] ^= each
    return bytes(changed)


def guard(data: bytes) -> None:
    """Packets of a link: only what the neighbour has sealed is taken, and only once."""
    ours, theirs = (Guard(node, node.interfaces[0]) for node in NODES.values())
    now_ns, sent, fresh = EPOCH_NS, list[bytes](), set[bytes]()
    for what, size, body in steps(data):
        packet = body
        match what % 6:
            case 0 | 1 if len(body) > TYPE_AT + 3:
                packet = theirs.seal(now_ns, body)
                sent, fresh = [*sent, packet], fresh | {packet}
            case 2 if sent:
                packet = turned(sent[size % len(sent)], body)
            case 3 if sent:
                packet = sent[size % len(sent)][: len(body)]
            case 4:
                now_ns += size * MS
            case 5:
                keys = (LinkKey(1 + size % 2, SECRET),)
                ours.use(now_ns, keys)
                theirs.use(now_ns, keys)
        refused = ours.refusal(now_ns, packet)
        if refused is None and len(packet) > TYPE_AT and packet[TYPE_AT] in SEALED:
            assert packet in fresh, "a packet is taken that the neighbour has not sealed, or once more"
            fresh.discard(packet)


def message_guard(data: bytes) -> None:
    """Datagrams of messages: compiled seals do what the reference does, whatever is told and comes."""
    if not data:
        return
    mode = [*Messages][data[0] % len(Messages)]
    reference, compiled = MessageGuard(mode), MessageSeals(1, mode)
    sent: list[bytes] = []
    for what, size, body in steps(data[1:]):
        if what % 4 == 0:
            sending = MESSAGE_KEYS[size % 4] if size & 16 else None
            receiving = [key for number, key in enumerate(MESSAGE_KEYS) if size >> number & 1]
            reference.use(sending, receiving)
            compiled.use(0, sending, receiving)
        if what % 4 == 1:
            try:
                sealed = reference.seal(body)
            except WireError:
                continue
            assert compiled.seal(0, body) == sealed, "they seal differently"
            sent.append(sealed)
        came = turned(sent[size % len(sent)], body) if what % 4 == 2 and sent else body
        if what % 4:
            assert compiled.open(0, came) == reference.open(came), "they judge differently"


def records(data: bytes) -> None:
    """Payloads of a neighbour who signs in its own name only, or repeats: of others nothing is held."""
    bench = Bench("records", "pif", signed=True)
    before = _held(bench.router("r1"), R2)
    assert None not in before, "what is watched is there"
    own = signer(FORGER)
    for what, _, said in steps(data):
        kind, body = (said[0] or 1, said[1:]) if said else (1, b"")
        repeated = before[what >> 1 & 1] if what & 1 else None
        record = body if repeated is None else turned(repeated, body)
        bench.forge(kind, record + own.sign(kind, record) if what & 4 else record)
        if what & 8:
            bench.wait(what * MS)
    assert _held(bench.router("r1"), R2) == before, "r1 holds something that r2 has not said"
    bench.wait(300 * MS)
    for name in ("r1", "r2"):
        bench.router(name).status()


def _held(router: Router, origin: int) -> tuple[bytes | None, bytes | None]:
    """Links and interest that a router holds of another."""
    links = router.linkstate.database.records.payload(origin)
    return links, router.interest.database.payload(origin)

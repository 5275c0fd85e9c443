"""The two claims the fuzz target checks: both codecs agree, and no bytes do harm.

`fuzz_wire.py` runs them at full size, `test_fuzz_slice.py` a slice of them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from nodes.wire import codec
from nodes.wire.codec import WireError
from nodes.wire.layers import CBN
from nodes.wire.packets import Kind
from tests.wire import payloads, scapy_codec
from tests.wire.generated import Generator
from tests.wire.mutated import Mutator

STEP = 1000
SCAPY_EVERY = 100
"""Of how many mutated packets Scapy judges one: it is some hundred times as slow."""


@dataclass(frozen=True)
class Form:
    """Something that is decoded, by both codecs, and encoded again."""

    name: str
    decode: Callable[[bytes], object]
    encode: Callable[..., bytes]
    decode_slowly: Callable[[bytes], object]


def _payload_form(kind: Kind) -> Form:
    return Form(
        f"payload {kind.name}",
        lambda data: payloads.decode_payload(kind, data),
        payloads.encode_payload,
        lambda data: scapy_codec.decode_payload(kind, data),
    )


PACKET = Form("packet", codec.decode, codec.encode, scapy_codec.decode)
PREDICATE = Form("predicate", codec.decode_predicate, codec.encode_predicate, scapy_codec.decode_predicate)
ROUTE = Form("route", codec.decode_destinations, codec.encode_destinations, scapy_codec.decode_destinations)
PAYLOADS = {kind: _payload_form(kind) for kind in Kind}


@dataclass
class Figures:
    """What has been seen so far."""

    packets: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    judged_by_scapy: int = 0


class FindingError(AssertionError):
    """A claim that does not hold, with the bytes that show it."""

    def __init__(self, claim: str, data: bytes, detail: object = "") -> None:
        super().__init__(f"{claim}\n  bytes: {data.hex()}\n  {detail}")


def check_agreement(seed: str, packets: int, figures: Figures) -> Iterator[int]:
    """Both codecs make the same bytes of the same packet and the same packet of the same bytes."""
    generator = Generator(Random(f"{seed}/packets"))
    for number in range(1, packets + 1):
        packet = generator.packet()
        data = codec.encode(packet)
        _same("the codecs encode the same bytes", data, scapy_codec.encode(packet), data)
        _same("the compiled codec decodes what it encoded", data, codec.decode(data), packet)
        _same("Scapy decodes what was encoded", data, scapy_codec.from_layer(CBN(data)), packet)
        figures.packets[type(packet).__name__] += 1
        if number % STEP == 0 or number == packets:
            yield number


def check_mutations(seed: str, mutations: int, figures: Figures) -> Iterator[int]:
    """Whatever the bytes: a value that encodes to just them again, or WireError; and Scapy says the same."""
    random = Random(f"{seed}/mutations")
    corpus = make_corpus(seed)
    mutator = Mutator(random, [data for _, data in corpus])
    for number in range(1, mutations + 1):
        form, data = random.choice(corpus)
        damaged = mutator.damage(data, framed=form is PACKET)
        accepted = judge(form, damaged)
        (figures.accepted if accepted else figures.rejected)[form.name] += 1
        if number % SCAPY_EVERY == 0:
            figures.judged_by_scapy += 1
            _same("Scapy accepts what the compiled codec does", damaged, accepts(form, damaged), accepted)
        if number % STEP == 0 or number == mutations:
            yield number


def make_corpus(seed: str, size: int = 2000) -> list[tuple[Form, bytes]]:
    """Valid packets, payloads, predicates and routes to be damaged."""
    generator = Generator(Random(f"{seed}/corpus"))
    found: list[tuple[Form, bytes]] = []
    while len(found) < size:
        payload = generator.payload()
        found += [
            (PACKET, codec.encode(generator.packet())),
            (PACKET, codec.encode(generator.packet())),
            (PAYLOADS[payloads.kind_of(payload)], payloads.encode_payload(payload)),
            (PREDICATE, codec.encode_predicate(generator.predicate())),
            (ROUTE, codec.encode_destinations(generator.destinations())),
        ]
    return found


def judge(form: Form, data: bytes) -> bool:
    """Whether the compiled codec accepts the bytes; a finding if it does anything else."""
    try:
        value = form.decode(data)
    except WireError:
        return False
    except Exception as error:
        raise FindingError(
            f"decoding a {form.name} raises nothing but WireError", data, repr(error)
        ) from error
    _same(f"an accepted {form.name} encodes to the same bytes", data, form.encode(value), data)
    return True


def accepts(form: Form, data: bytes) -> bool:
    """Whether Scapy's layers accept the bytes."""
    try:
        form.decode_slowly(data)
    except WireError:
        return False
    return True


def _same(claim: str, data: bytes, seen: object, expected: object) -> None:
    if seen != expected:
        raise FindingError(claim, data, f"got {seen!r}\n  not {expected!r}")

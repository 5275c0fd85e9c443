"""Random packets and control payloads of every shape the format has, each drawn from one seeded source."""

from dataclasses import replace
from random import Random
from typing import Any

from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, Value, allows
from nodes.wire.packets import Ack, Control, DatagramSeal, Hello, Message, Packet, Pad, Role, Trailer
from nodes.wire.signature import SIGNATURE_BYTES
from tests.wire.payloads import (
    Advertise,
    CbcbAdvertisement,
    CbcbEra,
    CbcbReply,
    CbcbRequest,
    CdUpdate,
    ChangeMarking,
    ChangeMarkingReply,
    CostAnnounce,
    Interest,
    InterestChange,
    LinkState,
    Match,
    Offer,
    OfferChange,
    Payload,
    RecordRequest,
    Refused,
    SienaAdvertise,
    SienaSubscribe,
    SienaUnadvertise,
    SienaUnsubscribe,
    Subscribe,
    SubscribePattern,
    Unadvertise,
    Unsubscribe,
    UnsubscribePattern,
    encode_payload,
    kind_of,
)

ALPHABET = "abcxyzABC019 .-_\x00\n\"'`\\éßÿĀ€東\ud7ff\ue000\uffff🛫\U0010ffff"
NAMES = ["price", "dest", "airline", "a", "aa", "b", "é", "any", "stock", "x\x00y"]
EDGES = [0, 1, -1, 2**31, 2**32, -(2**63), 2**63 - 1, 255, 256, 65535]
FLOATS = [0.0, 1.0, -1.0, 0.1, 1e300, -1e-300, 5e-324, float("inf"), float("-inf"), 2.0**53]
PAYLOAD_KINDS = [
    *("link_state", "interest", "subscribe", "unsubscribe", "change", "request"),
    *("advertise", "unadvertise", "refused", "offer", "pattern", "cbcb", "siena", "matchmaker"),
]
PACKET_WEIGHTS = {"message": 10, "control": 5, "hello": 3, "ack": 2, "pad": 1, "seal": 1}


class Generator:
    """Draws packets and payloads; equal seeds, equal draws."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def packet(self) -> Packet:
        (kind,) = self._random.choices(list(PACKET_WEIGHTS), list(PACKET_WEIGHTS.values()))
        drawn: Packet = getattr(self, f"_{kind}")()
        return drawn

    def payload(self) -> Payload:
        kind = self._random.choice(PAYLOAD_KINDS)
        drawn: Any = getattr(self, f"_{kind}")()
        one = not isinstance(drawn, CbcbEra) or len(drawn.records) == 1
        if hasattr(drawn, "signature") and one and self._random.random() < 0.5:
            drawn = replace(drawn, signature=self._random.randbytes(SIGNATURE_BYTES))
        signed: Payload = drawn
        return signed

    def predicate(self) -> Predicate:
        return Predicate(self._filter() for _ in range(self._few(4)))

    def _few(self, most: int) -> int:
        """0 to most, small numbers more often."""
        return int(most * self._random.random() ** 2 + 0.5)

    def _bits(self, size: int, least: int = 0) -> int:
        """An unsigned number of up to `size` bits, every magnitude and both ends often."""
        drawn = self._random.choice(
            [least, 2**size - 1, self._random.getrandbits(self._random.randint(1, size))]
        )
        return max(least, drawn)

    def _text(self, most: int) -> str:
        return "".join(self._random.choices(ALPHABET, k=self._few(most)))

    def _name(self) -> str:
        return self._random.choice(NAMES) if self._random.random() < 0.7 else self._text(12) or "n"

    def _value(self, kind: Type) -> Value:
        match kind:
            case Type.STRING:
                return self._text(20)
            case Type.BOOLEAN:
                return self._random.random() < 0.5
            case Type.FLOAT:
                return self._random.choice([*FLOATS, self._random.uniform(-1e6, 1e6)])
        number = self._random.choice([*EDGES, self._random.randint(-1000, 1000)])
        return Time(number) if kind is Type.TIME else number

    def _type(self) -> Type:
        return self._random.choice(list(Type))

    def destinations(self) -> list[int]:
        """Ids of routers, ascending, most of them close to each other."""
        return sorted({self._bits(self._random.choice([4, 8, 8, 15, 32]), 1) for _ in range(self._few(20))})

    def _trailer(self) -> Trailer | None:
        if self._random.random() < 0.8:
            return None
        return Trailer(
            self._random.randbytes(self._random.choice([1, 4, 32, 255])), self._bits(16), self._bits(8)
        )

    def _message(self) -> Message:
        attributes = {self._name(): self._value(self._type()) for _ in range(self._few(6))}
        return Message(
            self._bits(32, 1),
            self._bits(63),
            self._bits(63),
            dict(sorted(attributes.items(), key=lambda item: item[0].encode())),
            header_class=self._bits(32),
            hop_limit=self._bits(8),
            hop_count=self._bits(8),
            route=self._random.randbytes(self._few(12)),
            payload=self._random.randbytes(self._few(20)),
            trailer=self._trailer(),
        )

    def _hello(self) -> Hello:
        seen = (self._bits(32, 1), self._bits(64, 1)) if self._random.random() < 0.7 else (0, 0)
        role = self._random.choice(list(Role))
        return Hello(
            role, self._bits(32, 1), self._bits(64, 1), self._bits(16, 1), *seen, trailer=self._trailer()
        )

    def _control(self) -> Control:
        kind, fragment, first, last = self._fragment()
        return Control(
            kind,
            self._bits(64, 1),
            self._bits(64, 1),
            self._bits(32, 1),
            self._bits(32),
            self._bits(16),
            first,
            last,
            fragment,
            self._trailer(),
        )

    def _fragment(self) -> tuple[int, bytes, bool, bool]:
        payload = self.payload()
        data = encode_payload(payload)
        shape = self._random.random()
        if shape < 0.6:
            return kind_of(payload), data, True, True
        if shape < 0.7:
            return self._bits(8, 1), self._random.randbytes(self._few(30)), True, True
        cut = self._random.randint(0, len(data))
        return (
            (kind_of(payload), data[:cut], True, False)
            if shape < 0.85
            else (kind_of(payload), data[cut:], False, True)
        )

    def _ack(self) -> Ack:
        return Ack(self._bits(64, 1), self._bits(64, 1), self._bits(32), self._bits(16), self._trailer())

    def _pad(self) -> Pad:
        return Pad(4 + self._few(60))

    def _seal(self) -> DatagramSeal:
        mac = self._random.randbytes(16)
        return DatagramSeal(self._bits(16), self._bits(64), self._bits(64), mac, self._bits(8))

    def _link_state(self) -> LinkState:
        links = {self._bits(32, 1): self._bits(32, 1) for _ in range(self._few(5))}
        return LinkState(self._bits(32, 1), self._bits(63), tuple(sorted(links.items())))

    def _interest(self) -> Interest:
        return Interest(self._bits(32, 1), self._bits(63), self.predicate())

    def _subscribe(self) -> Subscribe:
        return Subscribe(self._bits(32), self.predicate())

    def _unsubscribe(self) -> Unsubscribe:
        return Unsubscribe(self._bits(32))

    def _change(self) -> InterestChange:
        head = (self._bits(32, 1), self._bits(63), self._random.randbytes(16))
        return InterestChange(*head, self.predicate(), self.predicate())

    def _offer(self) -> Offer | OfferChange:
        head = (self._bits(32, 1), self._bits(63))
        if self._random.random() < 0.5:
            return Offer(*head, self.predicate())
        return OfferChange(*head, self._random.randbytes(16), self.predicate(), self.predicate())

    def _request(self) -> RecordRequest:
        return RecordRequest(self._bits(32, 1))

    def _advertise(self) -> Advertise:
        return Advertise(self._bits(32), self.predicate())

    def _unadvertise(self) -> Unadvertise:
        return Unadvertise(self._bits(32))

    def _refused(self) -> Refused:
        return Refused(self._bits(8, 1), self._bits(32, 1), self._bits(63))

    def _pattern(self) -> SubscribePattern | UnsubscribePattern | Match:
        match self._random.randrange(3):
            case 0:
                return SubscribePattern(self._bits(32), self._text(40) or "[all]")
            case 1:
                return UnsubscribePattern(self._bits(32))
        return Match(self._bits(32), tuple(self._message() for _ in range(1 + self._few(3))))

    def _cbcb(self) -> Payload:
        head = (self._bits(32, 1), self._bits(64), self._bits(32))
        match self._random.randrange(4):
            case 0:
                return CbcbAdvertisement(*head, self._random.random() < 0.5, self.predicate())
            case 1:
                return CbcbRequest(*head, self._random.random() < 0.5)
            case 2:
                return CbcbReply(*head, self.predicate())
        routers = sorted({self._bits(32, 1) for _ in range(1 + self._few(4))})
        return CbcbEra(tuple((router, self._bits(63), self._bits(64)) for router in routers))

    def _siena(self) -> Payload:
        kind = self._random.choice([SienaSubscribe, SienaUnsubscribe, SienaAdvertise, SienaUnadvertise])
        return kind(self._bits(32), self.predicate())

    def _matchmaker(self) -> Payload:
        match self._random.randrange(3):
            case 0:
                flags = self._random.random() < 0.5, self._random.random() < 0.5
                causes = sorted({self._bits(32, 1) for _ in range(self._few(4))})
                head = self._bits(32, 1), self._bits(63)
                return CostAnnounce(*head, *flags, self._bits(64), self._bits(64), tuple(causes))
            case 1:
                return self._marking()
        ends = self._random.choice([(1, 0), (0, 1), (1, 1)])
        ids = [part for end in ends for part in ((self._bits(32, 1), self._bits(64)) if end else (0, 0))]
        withdrawn = self._random.random() < 0.3
        filters = [] if withdrawn or self._random.random() < 0.2 else [self._filter()]
        again, kept = (self._random.random() < 0.3 for _ in range(2))
        return CdUpdate(*ids, Predicate(filters), withdrawn, not withdrawn and again, withdrawn and kept)

    def _marking(self) -> Payload:
        predicate = self.predicate()
        count = len(predicate.filters)
        places = [*range(1, count + 1), *(self._random.randint(0, count) for _ in range(self._few(3)))]
        ids = sorted({(self._bits(32, 1), self._bits(64)) for _ in places})
        while len(ids) < count:
            ids = sorted({*ids, (self._bits(32, 1), self._bits(64))})
        descriptors = tuple((*id_, place) for id_, place in zip(ids, places, strict=False))
        kind = self._random.choice([ChangeMarking, ChangeMarkingReply])
        return kind(self._bits(32, 1), self._random.randrange(2), descriptors, predicate)

    def _filter(self) -> Filter:
        return Filter(self._constraint() for _ in range(self._few(4)))

    def _constraint(self) -> Constraint:
        kind = self._type()
        op = self._random.choice([op for op in Op if allows(op, kind)])
        return Constraint(self._name(), kind, op, None if op is Op.ANY else self._value(kind))

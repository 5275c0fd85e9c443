"""What stands inside CBN packets, as Scapy layers: attributes, predicates, control payloads, the trailer.

The packets themselves are in `layers`, which is what to import.
"""

# Scapy asks for lists as class attributes and hands every field the packet.
# ruff: noqa: RUF012, ARG002

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scapy.fields import (
    ByteEnumField,
    ConditionalField,
    Field,
    FieldLenField,
    FlagsField,
    IEEEDoubleField,
    IntField,
    LongField,
    MultipleTypeField,
    PacketField,
    PacketListField,
    ShortField,
    SignedLongField,
    StrLenField,
    XLongField,
    XStrFixedLenField,
    XStrLenField,
)
from scapy.packet import Packet

from fastpath.wire.codec import WireError, decode_destinations
from nodes.model import Op, Type
from nodes.wire.packets import Kind, Refusal
from nodes.wire.signature import SIGNATURE_BYTES

ALGORITHMS = {1: "HMAC-SHA-256", 2: "HMAC-SHA-256-128 and counter"}
TYPES = {int(kind): kind.text for kind in Type}
OPERATORS = {int(op): op.text for op in Op}
# Scapy's guard against endless lists is 100; the bytes bound ours.
LIST_MAX = 2**32
RENEWAL_BYTES = 20


class Utf8LenField(StrLenField):
    """A string of a given length; a lone byte that is no UTF-8 shows as a surrogate."""

    def any2i(self, pkt: Packet | None, x: str | bytes) -> bytes:
        """Take text or bytes."""
        return x.encode("utf-8", "surrogateescape") if isinstance(x, str) else x

    def i2h(self, pkt: Packet | None, x: bytes) -> str:
        """Give text."""
        return x.decode("utf-8", "surrogateescape")

    def i2repr(self, pkt: Packet | None, x: bytes) -> str:
        """Show text."""
        return repr(self.i2h(pkt, x))


class RouteField(XStrLenField):
    """The route of a message: bytes, shown with the destinations they name if they are a list of these."""

    def i2repr(self, pkt: Packet | None, x: bytes) -> str:
        """Show the bytes and, if there are any, the destinations."""
        shown = str(super().i2repr(pkt, x))
        try:
            routers = decode_destinations(bytes(x))
        except WireError:
            return shown
        return f"{shown} (to {', '.join(map(str, routers))})" if routers else shown


class Part(Packet):
    """What stands inside a packet: the bytes after it are its neighbour's."""

    name = "CBN part"

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """Leave what follows to the list this stands in."""
        return b"", s


def _value_fields(has_value: Callable[[Packet], bool]) -> list[ConditionalField]:
    """The value of an attribute or a constraint, by its `type`."""
    length = FieldLenField("value_length", None, fmt="H", length_of="value")
    value = MultipleTypeField(
        [
            (SignedLongField("value", 0), lambda part: part.type in {Type.INTEGER, Type.TIME}),
            (IEEEDoubleField("value", 0), lambda part: part.type == Type.FLOAT),
            (ByteEnumField("value", 0, {0: "false", 1: "true"}), lambda part: part.type == Type.BOOLEAN),
        ],
        Utf8LenField("value", b"", length_from=lambda part: part.value_length),
    )
    return [
        ConditionalField(length, lambda part: part.type == Type.STRING and has_value(part)),
        ConditionalField(value, has_value),
    ]


def _name_fields() -> list[Any]:
    return [
        FieldLenField("name_length", None, fmt="B", length_of="attribute"),
        Utf8LenField("attribute", b"", length_from=lambda part: part.name_length),
    ]


class CBNAttribute(Part):
    """One attribute of a message."""

    name = "CBN attribute"
    fields_desc = [ByteEnumField("type", 1, TYPES), *_name_fields(), *_value_fields(lambda _part: True)]


class CBNConstraint(Part):
    """One constraint of a filter."""

    name = "CBN constraint"
    fields_desc = [
        ByteEnumField("type", 1, TYPES),
        ByteEnumField("operator", 1, OPERATORS),
        *_name_fields(),
        *_value_fields(lambda part: part.operator != Op.ANY),
    ]


class CBNFilter(Part):
    """A conjunction of constraints."""

    name = "CBN filter"
    fields_desc = [
        FieldLenField("count", None, fmt="H", count_of="constraints"),
        PacketListField(
            "constraints", [], CBNConstraint, count_from=lambda part: part.count, max_count=LIST_MAX
        ),
    ]


class CBNPredicate(Part):
    """A disjunction of filters."""

    name = "CBN predicate"
    fields_desc = [
        FieldLenField("count", None, fmt="I", count_of="filters"),
        PacketListField("filters", [], CBNFilter, count_from=lambda part: part.count, max_count=LIST_MAX),
    ]


class SignatureField(XStrLenField):
    """The signature of a record's origin, or nothing: all that is left behind the record."""

    def __init__(self) -> None:
        super().__init__("signature", b"", length_from=lambda _: SIGNATURE_BYTES)


class CBNNeighbour(Part):
    """One link of a LINK_STATE."""

    name = "CBN neighbour"
    fields_desc = [IntField("node", 1), IntField("cost", 1)]


class CBNLinkState(Part):
    """Control payload: the links of one router."""

    name = "CBN LINK_STATE"
    fields_desc = [
        IntField("origin", 1),
        LongField("sequence", 0),
        FieldLenField("count", None, fmt="H", count_of="neighbours"),
        PacketListField(
            "neighbours", [], CBNNeighbour, count_from=lambda part: part.count, max_count=LIST_MAX
        ),
        SignatureField(),
    ]


def _predicate_field(name: str = "predicate") -> PacketField:
    return PacketField(name, CBNPredicate(), CBNPredicate)


def _record_head() -> list[Field[Any, Any]]:
    return [IntField("origin", 1), LongField("sequence", 0)]


def _record_change() -> list[Field[Any, Any]]:
    digest = XStrFixedLenField("digest", bytes(16), 16)
    changes = _predicate_field("removed"), _predicate_field("added")
    return [*_record_head(), digest, *changes, SignatureField()]


def _number(name: str) -> list[Field[Any, Any]]:
    """What withdraws something: the number of who told it."""
    return [IntField(name, 0)]


def _held(name: str) -> list[Field[Any, Any]]:
    """What tells it: the number, and what it is."""
    return [*_number(name), _predicate_field()]


class CBNInterest(Part):
    """Control payload: what the clients of one router want."""

    name = "CBN INTEREST"
    fields_desc = [*_record_head(), _predicate_field(), SignatureField()]


class CBNSubscribe(Part):
    """Control payload: a client adds or replaces a subscription."""

    name = "CBN SUBSCRIBE"
    fields_desc = [*_held("subscription")]


class CBNUnsubscribe(Part):
    """Control payload: a client withdraws a subscription."""

    name = "CBN UNSUBSCRIBE"
    fields_desc = [*_number("subscription")]


class CBNInterestChange(Part):
    """Control payload: how what the clients of one router want has changed."""

    name = "CBN INTEREST_CHANGE"
    fields_desc = [*_record_change()]


class CBNOffer(Part):
    """Control payload: what the clients of one router advertise."""

    name = "CBN OFFER"
    fields_desc = [*_record_head(), _predicate_field(), SignatureField()]


class CBNOfferChange(Part):
    """Control payload: how what the clients of one router advertise has changed."""

    name = "CBN OFFER_CHANGE"
    fields_desc = [*_record_change()]


class CBNRecordRequest(Part):
    """Control payload: a router asks its neighbour for LINK_STATE, INTEREST and OFFER of an origin."""

    name = "CBN RECORD_REQUEST"
    fields_desc = [IntField("origin", 1)]


class CBNAdvertise(Part):
    """Control payload: a client adds or replaces an advertisement."""

    name = "CBN ADVERTISE"
    fields_desc = [*_held("advertisement")]


class CBNUnadvertise(Part):
    """Control payload: a client withdraws an advertisement."""

    name = "CBN UNADVERTISE"
    fields_desc = [*_number("advertisement")]


class CBNRefused(Part):
    """Control payload: a router has not taken messages of a client."""

    name = "CBN REFUSED"
    fields_desc = [
        ByteEnumField("reason", 1, {int(reason): reason.name for reason in Refusal}),
        IntField("count", 1),
        LongField("sequence", 0),
    ]


class CBNSubscribePattern(Part):
    """Control payload: a client, or a router that delegates, adds or replaces a pattern."""

    name = "CBN SUBSCRIBE_PATTERN"
    fields_desc = [
        IntField("pattern", 0),
        Utf8LenField("text", b"", length_from=lambda part: max(0, len(part.original) - 4)),
    ]


class CBNUnsubscribePattern(Part):
    """Control payload: a pattern is withdrawn."""

    name = "CBN UNSUBSCRIBE_PATTERN"
    fields_desc = [*_number("pattern")]


def _cbcb_head(number: str) -> list[Field[Any, Any]]:
    return [IntField("origin", 1), XLongField("era", 0), IntField(number, 0)]


class CBNCbcbRA(Part):
    """Control payload of `cbcb`: a receiver advertisement."""

    name = "CBN CBCB_RA"
    fields_desc = [
        *_cbcb_head("revision"),
        FlagsField("flags", 0, 8, ["NARROWED"]),
        _predicate_field(),
        SignatureField(),
    ]


class CBNCbcbSR(Part):
    """Control payload of `cbcb`: a sender request."""

    name = "CBN CBCB_SR"
    fields_desc = [*_cbcb_head("request"), FlagsField("flags", 0, 8, ["PERIODIC"]), SignatureField()]


class CBNCbcbUR(Part):
    """Control payload of `cbcb`: an update reply."""

    name = "CBN CBCB_UR"
    fields_desc = [*_cbcb_head("request"), _predicate_field()]


class CBNRenewal(Part):
    """One record of a CBCB_ERA."""

    name = "CBN renewal"
    fields_desc = [IntField("router", 1), LongField("renewal", 0), XLongField("nonce", 0)]


def _renewals_bytes(part: Packet) -> int:
    """How many bytes of a CBCB_ERA are records: with a signature it has one."""
    size = len(part.original)
    return RENEWAL_BYTES if size == RENEWAL_BYTES + SIGNATURE_BYTES else size


class CBNCbcbEra(Part):
    """Control payload of `cbcb`: routers whose links came or went."""

    name = "CBN CBCB_ERA"
    fields_desc = [
        PacketListField("records", [], CBNRenewal, length_from=_renewals_bytes, max_count=LIST_MAX),
        SignatureField(),
    ]


class CBNSienaSubscribe(Part):
    """Control payload of `siena`: filters that are wanted beyond its sender."""

    name = "CBN SIENA_SUBSCRIBE"
    fields_desc = [*_held("issuer")]


class CBNSienaUnsubscribe(Part):
    """Control payload of `siena`: filters that are not, any more."""

    name = "CBN SIENA_UNSUBSCRIBE"
    fields_desc = [*_held("issuer")]


class CBNSienaAdvertise(Part):
    """Control payload of `siena`: advertisements of publishers beyond its sender."""

    name = "CBN SIENA_ADVERTISE"
    fields_desc = [*_held("issuer")]


class CBNSienaUnadvertise(Part):
    """Control payload of `siena`: advertisements that are withdrawn."""

    name = "CBN SIENA_UNADVERTISE"
    fields_desc = [*_held("issuer")]


class CBNCause(Part):
    """A link that a router prefers as an s-link."""

    name = "CBN cause"
    fields_desc = [IntField("cause", 1)]


class CBNCostAnnounce(Part):
    """Control payload of `amsp`, `bp` and `bs`: what a router publishes and wants in a unit of time."""

    name = "CBN COST_ANNOUNCE"
    fields_desc = [
        IntField("origin", 1),
        LongField("sequence", 0),
        FlagsField("flags", 0, 8, ["PUBLISHES", "SUBSCRIBES"]),
        LongField("publication_rate", 0),
        LongField("subscription_rate", 0),
        FieldLenField("count", None, fmt="H", count_of="causes"),
        PacketListField("causes", [], CBNCause, count_from=lambda part: part.count, max_count=LIST_MAX),
        SignatureField(),
    ]


class CBNDescriptor(Part):
    """The id of a descriptor, and the place of its filter in the predicate that follows; 0: anything."""

    name = "CBN descriptor"
    fields_desc = [IntField("router", 1), LongField("descriptor", 0), IntField("place", 0)]


def _marking_fields() -> list[Any]:
    return [
        IntField("change", 1),
        ByteEnumField("marking", 0, {0: "s-link", 1: "p-link"}),
        FieldLenField("count", None, fmt="I", count_of="descriptors"),
        PacketListField(
            "descriptors", [], CBNDescriptor, count_from=lambda part: part.count, max_count=LIST_MAX
        ),
        _predicate_field(),
    ]


class CBNChangeMarking(Part):
    """Control payload of `amsp`: the upstream end of a link marks it."""

    name = "CBN CHANGE_MARKING"
    fields_desc = _marking_fields()


class CBNChangeMarkingReply(Part):
    """Control payload of `amsp`: the downstream end has followed."""

    name = "CBN CHANGE_MARKING_REPLY"
    fields_desc = _marking_fields()


class CBNCdUpdate(Part):
    """Control payload of `amsp`, `bp` and `bs`: a descriptor of a publisher, of a subscriber, or a match."""

    name = "CBN CD_UPDATE"
    fields_desc = [
        FlagsField("flags", 0, 8, ["WITHDRAWN", "AGAIN", "KEPT"]),
        IntField("publisher", 0),
        LongField("pcd", 0),
        IntField("subscriber", 0),
        LongField("scd", 0),
        _predicate_field(),
    ]


PAYLOADS: dict[int, type[Part]] = {
    Kind.LINK_STATE: CBNLinkState,
    Kind.INTEREST: CBNInterest,
    Kind.SUBSCRIBE: CBNSubscribe,
    Kind.UNSUBSCRIBE: CBNUnsubscribe,
    Kind.INTEREST_CHANGE: CBNInterestChange,
    Kind.RECORD_REQUEST: CBNRecordRequest,
    Kind.ADVERTISE: CBNAdvertise,
    Kind.UNADVERTISE: CBNUnadvertise,
    Kind.REFUSED: CBNRefused,
    Kind.OFFER: CBNOffer,
    Kind.OFFER_CHANGE: CBNOfferChange,
    Kind.SUBSCRIBE_PATTERN: CBNSubscribePattern,
    Kind.UNSUBSCRIBE_PATTERN: CBNUnsubscribePattern,
    Kind.CBCB_RA: CBNCbcbRA,
    Kind.CBCB_SR: CBNCbcbSR,
    Kind.CBCB_UR: CBNCbcbUR,
    Kind.CBCB_ERA: CBNCbcbEra,
    Kind.SIENA_SUBSCRIBE: CBNSienaSubscribe,
    Kind.SIENA_UNSUBSCRIBE: CBNSienaUnsubscribe,
    Kind.SIENA_ADVERTISE: CBNSienaAdvertise,
    Kind.SIENA_UNADVERTISE: CBNSienaUnadvertise,
    Kind.COST_ANNOUNCE: CBNCostAnnounce,
    Kind.CHANGE_MARKING: CBNChangeMarking,
    Kind.CHANGE_MARKING_REPLY: CBNChangeMarkingReply,
    Kind.CD_UPDATE: CBNCdUpdate,
}


class CBNTrailer(Part):
    """The authentication trailer; it is read from its end, so it must be given exactly its own bytes."""

    name = "CBN trailer"
    fields_desc = [
        XStrLenField("tag", b"", length_from=lambda part: len(part.original) - 4),
        ShortField("key_id", 0),
        ByteEnumField("algorithm", 1, ALGORITHMS),
        FieldLenField("tag_length", None, fmt="B", length_of="tag"),
    ]

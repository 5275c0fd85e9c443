"""Reads `tests/vectors/*.json`: bytes, and the values they stand for.

Every vector has a `name` and its bytes as lines of hex, each with what it says
after a `#`. The values are made here from JSON by nothing but constructors, so
that no codec takes part in saying what a codec should give.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, Value
from nodes.wire.packets import Ack, Control, DatagramSeal, Hello, Kind, Message, Packet, Pad, Role, Trailer
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
)

FOLDER = Path(__file__).parents[1] / "vectors"
PACKET_FILES = ["pad", "message", "hello", "control", "ack", "seal"]
PAYLOAD_FILES = [
    *("link_state", "interest", "subscribe", "unsubscribe"),
    *("interest_change", "record_request", "advertise", "offer", "patterns", "cbcb", "siena", "matchmaker"),
    "signed",
]

Json = dict[str, Any]


@dataclass(frozen=True)
class Vector:
    """One vector; `fields` is the whole JSON object."""

    file: str
    name: str
    data: bytes
    fields: Json

    @property
    def id(self) -> str:
        return f"{self.file}: {self.name}"


def load(*files: str) -> list[Vector]:
    return [
        Vector(file, entry["name"], _bytes(entry["hex"]), entry)
        for file in files
        for entry in json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))["vectors"]
    ]


def packet_of(fields: Json) -> Packet:
    """The packet a vector's `packet` object stands for."""
    values = dict(fields)
    kind = values.pop("type")
    if values.get("trailer"):
        values["trailer"] = Trailer(**values["trailer"] | {"tag": bytes.fromhex(values["trailer"]["tag"])})
    return _PACKETS[kind](values)


def payload_of(kind: str, fields: Json) -> Payload:
    """The control payload a vector's `payload` object stands for."""
    values = dict(fields)
    if "signature" in values:
        values["signature"] = bytes.fromhex(values["signature"])
    return _PAYLOADS[kind](values)


def predicate_of(filters: list[list[list[Any]]]) -> Predicate:
    return Predicate(Filter(_constraint(*constraint) for constraint in filter_) for filter_ in filters)


def kind_number(kind: str) -> int:
    return int(kind) if kind.isdigit() else Kind[kind].value


def _bytes(lines: list[str]) -> bytes:
    return bytes.fromhex("".join(line.split("#")[0] for line in lines))


def _value(kind: str, value: Any) -> Value:
    if kind == "time":
        return Time(value)
    return float(value) if kind == "float" else value


def _constraint(name: str, kind: str, op: str, value: Any) -> Constraint:
    operator = next(o for o in Op if o.text == op)
    return Constraint(name, Type[kind.upper()], operator, None if op == "any" else _value(kind, value))


def _message(v: Json) -> Message:
    attributes = {name: _value(*typed) for name, typed in v["attributes"].items()}
    raw = {name: bytes.fromhex(v.get(name, "")) for name in ("route", "payload")}
    return Message(**v | {"attributes": attributes, **raw})


def _marking_fields(v: Json) -> Json:
    descriptors = tuple(tuple(each) for each in v["descriptors"])
    return v | {"descriptors": descriptors, "predicate": predicate_of(v["predicate"])}


def _change_fields(v: Json) -> Json:
    changes = {name: predicate_of(v[name]) for name in ("removed", "added")}
    return v | changes | {"digest": bytes.fromhex(v["digest"])}


def _link_state(v: Json) -> LinkState:
    return LinkState(**v | {"neighbours": tuple((node, cost) for node, cost in v["neighbours"])})


_PACKETS = {
    "PAD": lambda v: Pad(**v),
    "MESSAGE": _message,
    "HELLO": lambda v: Hello(**v | {"role": Role[v["role"].upper()]}),
    "CONTROL": lambda v: Control(**v | {"fragment": bytes.fromhex(v["fragment"])}),
    "ACK": lambda v: Ack(**v),
    "SEAL": lambda v: DatagramSeal(**v | {"mac": bytes.fromhex(v["mac"])}),
}
_PAYLOADS = {
    "LINK_STATE": _link_state,
    "INTEREST": lambda v: Interest(**v | {"predicate": predicate_of(v["predicate"])}),
    "SUBSCRIBE": lambda v: Subscribe(**v | {"predicate": predicate_of(v["predicate"])}),
    "UNSUBSCRIBE": lambda v: Unsubscribe(**v),
    "INTEREST_CHANGE": lambda v: InterestChange(**_change_fields(v)),
    "RECORD_REQUEST": lambda v: RecordRequest(**v),
    "OFFER": lambda v: Offer(**v | {"predicate": predicate_of(v["predicate"])}),
    "OFFER_CHANGE": lambda v: OfferChange(**_change_fields(v)),
    "ADVERTISE": lambda v: Advertise(**v | {"predicate": predicate_of(v["predicate"])}),
    "UNADVERTISE": lambda v: Unadvertise(**v),
    "REFUSED": lambda v: Refused(**v),
    "SUBSCRIBE_PATTERN": lambda v: SubscribePattern(**v),
    "UNSUBSCRIBE_PATTERN": lambda v: UnsubscribePattern(**v),
    "MATCH": lambda v: Match(**v | {"messages": tuple(map(_message, v["messages"]))}),
    "CBCB_RA": lambda v: CbcbAdvertisement(**v | {"predicate": predicate_of(v["predicate"])}),
    "CBCB_SR": lambda v: CbcbRequest(**v),
    "CBCB_UR": lambda v: CbcbReply(**v | {"predicate": predicate_of(v["predicate"])}),
    "CBCB_ERA": lambda v: CbcbEra(**v | {"records": tuple(map(tuple, v["records"]))}),
    "SIENA_SUBSCRIBE": lambda v: SienaSubscribe(**v | {"predicate": predicate_of(v["predicate"])}),
    "SIENA_UNSUBSCRIBE": lambda v: SienaUnsubscribe(**v | {"predicate": predicate_of(v["predicate"])}),
    "SIENA_ADVERTISE": lambda v: SienaAdvertise(**v | {"predicate": predicate_of(v["predicate"])}),
    "SIENA_UNADVERTISE": lambda v: SienaUnadvertise(**v | {"predicate": predicate_of(v["predicate"])}),
    "COST_ANNOUNCE": lambda v: CostAnnounce(**v | {"causes": tuple(v["causes"])}),
    "CHANGE_MARKING": lambda v: ChangeMarking(**_marking_fields(v)),
    "CHANGE_MARKING_REPLY": lambda v: ChangeMarkingReply(**_marking_fields(v)),
    "CD_UPDATE": lambda v: CdUpdate(**v | {"predicate": predicate_of(v["predicate"])}),
}

"""Attributes, filters and predicates of the model as bytes and back.

The format is checked and made by `fastpath.codec`; here the model's values
become its plain tuples. Packets and payloads are in `codec` and `payloads`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fastpath import codec as compiled
from fastpath.codec import UsageError
from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, Value, type_of
from nodes.model import UsageError as ModelUsageError

if TYPE_CHECKING:
    from fastpath.codec import Attribute, ConstraintTuple, Scalar


def attribute_tuples(attributes: Mapping[str, Value]) -> list[Attribute]:
    """The attributes as the compiled codec takes them.

    Raises:
        UsageError: A value has none of the five types.
    """
    try:
        return [(type_of(value), name, _scalar(value)) for name, value in attributes.items()]
    except ModelUsageError as error:
        raise UsageError(str(error)) from None


def attribute_mapping(attributes: Iterable[Attribute]) -> dict[str, Value]:
    """The attributes as the model has them, by ascending name."""
    return {name: Time(int(value)) if kind == Type.TIME else value for kind, name, value in attributes}


def filter_tuples(filter_: Filter) -> list[ConstraintTuple]:
    """The constraints as the compiled codec takes them."""
    return [
        (c.type, c.op, c.name, None if c.value is None else _scalar(c.value)) for c in filter_.constraints
    ]


def filter_value(constraints: Iterable[ConstraintTuple]) -> Filter:
    """The filter of decoded constraints."""
    return Filter(_constraint(*constraint) for constraint in constraints)


def predicate_tuples(predicate: Predicate) -> list[list[ConstraintTuple]]:
    """The filters as the compiled codec takes them."""
    return [filter_tuples(filter_) for filter_ in predicate.filters]


def predicate_value(filters: Iterable[Iterable[ConstraintTuple]]) -> Predicate:
    """The predicate of decoded filters."""
    return Predicate(filter_value(constraints) for constraints in filters)


def encode_attributes(attributes: Mapping[str, Value]) -> bytes:
    """The attribute section of a message; its count is the mapping's."""
    return compiled.encode_attributes(attribute_tuples(attributes))


def decode_attributes(data: bytes, count: int) -> dict[str, Value]:
    """A section of exactly `count` attributes.

    Raises:
        WireError: It is malformed.
    """
    return attribute_mapping(compiled.decode_attributes(data, count))


def encode_filter(filter_: Filter) -> bytes:
    """The canonical bytes of a filter: equal filters, equal bytes."""
    return compiled.encode_filter(filter_tuples(filter_))


def decode_filter(data: bytes) -> Filter:
    """One filter and nothing after it.

    Raises:
        WireError: The bytes are malformed or not canonical.
    """
    return filter_value(compiled.decode_filter(data))


def encode_predicate(predicate: Predicate) -> bytes:
    """The canonical bytes of a predicate: equal predicates, equal bytes."""
    return compiled.encode_predicate(predicate_tuples(predicate))


def decode_predicate(data: bytes) -> Predicate:
    """One predicate and nothing after it.

    Raises:
        WireError: The bytes are malformed or not canonical.
    """
    return predicate_value(compiled.decode_predicate(data))


def _scalar(value: Value) -> Scalar:
    return value.ns if isinstance(value, Time) else value


def _constraint(kind: int, op: int, name: str, scalar: Scalar | None) -> Constraint:
    value: Value | None = scalar
    if kind == Type.TIME and scalar is not None:
        value = Time(int(scalar))
    return Constraint(name, Type(kind), Op(op), value)

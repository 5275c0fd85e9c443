"""What Siena's routers send each other: SIENA_SUBSCRIBE, SIENA_ADVERTISE, and what withdraws them.

(ADR 2.4.3, 3.5; E15.) All are an issuer, the router of the original subscriber or publisher
(`siena_trees`), and the filters that are forwarded or withdrawn: subscribe(U, f) for each of them, U
being the neighbour. A digest of what was sent and not withdrawn is kept at both
ends, so that a run can see them agree.

Not here: what is sent when (`siena_table`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nodes.routing.predicates import filters_of, predicate_of
from nodes.wire.codec import WireError
from nodes.wire.packets import Kind
from nodes.wire.scheme_payloads import join_issuer, split_issuer

KINDS = frozenset(
    int(kind)
    for kind in (
        Kind.SIENA_SUBSCRIBE,
        Kind.SIENA_UNSUBSCRIBE,
        Kind.SIENA_ADVERTISE,
        Kind.SIENA_UNADVERTISE,
    )
)
PAYLOAD_BYTES = 48 * 1024
"""A longer list of filters is sent in several payloads, so that the neighbour can begin."""


class Update(NamedTuple):
    """One filter to be forwarded to a neighbour, or to be withdrawn from it."""

    interface: int
    kind: int
    issuer: int
    filter: bytes


def payloads(issuer: int, filters: Iterable[bytes]) -> Iterator[bytes]:
    """The payloads that carry these filters of an issuer."""
    chosen: list[bytes] = []
    size = 0
    for filter_ in sorted(filters):
        if chosen and size + len(filter_) > PAYLOAD_BYTES:
            yield join_issuer(issuer, predicate_of(chosen))
            chosen, size = [], 0
        chosen.append(filter_)
        size += len(filter_)
    if chosen:
        yield join_issuer(issuer, predicate_of(chosen))


def read(payload: bytes) -> tuple[int, list[bytes]]:
    """(Issuer, filters).

    Raises:
        WireError: It is malformed, or without a filter.
    """
    issuer, predicate = split_issuer(payload)
    filters = filters_of(predicate)
    if not filters:
        raise WireError("what is announced or withdrawn is at least one filter; this names none")
    return issuer, filters

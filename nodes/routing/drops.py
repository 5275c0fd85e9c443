"""Why the control plane of a node drops a packet or a payload.

Every drop is counted under one of these names, in the core's status and by the
shell. The data plane counts its own (`fastpath.fib.DropReason`).
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Names as they stand in a node's status; `docs/protocols.md` explains each."""

    MALFORMED = "malformed"
    UNEXPECTED_PACKET = "unexpected_packet"
    WRONG_PEER = "wrong_peer"
    OWN_ID = "own_id"
    STALE_HELLO = "stale_hello"
    OTHER_SESSION = "other_session"
    DUPLICATE_CONTROL = "duplicate_control"
    OUTSIDE_WINDOW = "outside_window"
    IMPOSSIBLE_ACK = "impossible_ack"
    FRAGMENT_WITHOUT_FIRST = "fragment_without_first"
    UNFINISHED_PAYLOAD = "unfinished_payload"
    OVERSIZE_PAYLOAD = "oversize_payload"
    MALFORMED_PAYLOAD = "malformed_payload"
    UNKNOWN_KIND = "unknown_kind"
    UNEXPECTED_KIND = "unexpected_kind"
    STALE_PAYLOAD = "stale_payload"
    TOO_MANY_FILTERS = "too_many_filters"
    TOO_MUCH_HELD = "too_much_held"
    INTEREST_GAP = "interest_gap"
    UNKNOWN_SUBSCRIPTION = "unknown_subscription"

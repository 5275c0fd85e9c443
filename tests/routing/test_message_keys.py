"""Which keys messages are sealed with: those of the session, and for a while those of the one before."""

from __future__ import annotations

from dataclasses import replace

from nodes.config import LinkKey, Messages, Neighbours, NodeConfig, SecurityConfig
from nodes.routing.effects import MessageKey, SealMessages
from nodes.routing.message_keys import MessageKeys
from nodes.wire.datagram_seal import session_name
from tests.routing.fabric import configure, line
from tests.routing.sealed import sealed

HOLD_NS = 2_000_000_000
FIRST, SECOND = (11, 22), (33, 44)
"""Names of sessions: the incarnations of r1 and of r2."""


def node(name: str, messages: Messages = Messages.REQUIRED) -> NodeConfig:
    configs = sealed(configure(line(2)))
    security = SecurityConfig(neighbours=Neighbours.REQUIRED, messages=messages)
    config = replace(configs[name], security=security)
    return replace(config, timers=replace(config.timers, hold_ms=HOLD_NS // 1_000_000))


def end(name: str) -> MessageKeys:
    config = node(name)
    return MessageKeys(config, config.interfaces[0])


def told(found: SealMessages | None) -> tuple[MessageKey | None, set[int]]:
    """What goes is sealed with, and the sessions that are taken."""
    assert found is not None
    return found.sending, {key.session for key in found.receiving}


def test_what_the_neighbour_seals_is_taken_before_we_answer_and_we_seal_once_the_session_is_open() -> None:
    keys = end("r1")
    assert keys.look(0, (11, 0), up=False) is None
    assert told(keys.look(1, FIRST, up=False)) == (None, {session_name(*FIRST)})
    sending, _ = told(keys.look(2, FIRST, up=True))
    assert sending is not None
    assert sending.session == session_name(*FIRST)
    assert keys.look(3, FIRST, up=True) is None


def test_each_end_takes_what_the_other_seals() -> None:
    one, other = end("r1"), end("r2")
    sent = one.look(0, FIRST, up=True)
    taken = other.look(0, (FIRST[1], FIRST[0]), up=False)
    assert sent is not None
    assert taken is not None
    assert sent.sending in taken.receiving
    assert sent.sending not in sent.receiving


def test_a_session_that_is_over_is_taken_for_a_hold_time_more() -> None:
    keys = end("r1")
    keys.look(0, FIRST, up=True)
    assert keys.look(10, (33, 0), up=False) is None
    sending, sessions = told(keys.look(20, SECOND, up=False))
    assert sending is not None
    assert sending.session == session_name(*FIRST)
    assert sessions == {session_name(*FIRST), session_name(*SECOND)}
    assert keys.look(10 + HOLD_NS - 1, SECOND, up=False) is None
    assert told(keys.look(10 + HOLD_NS, SECOND, up=False)) == (sending, {session_name(*SECOND)})


def test_a_new_key_is_used_at_once_and_the_old_one_taken_for_a_hold_time_more() -> None:
    keys = end("r1")
    keys.look(0, FIRST, up=True)
    keys.use((LinkKey(2, b"2" * 32),))
    found = keys.look(5, FIRST, up=True)
    assert found is not None
    assert found.sending is not None
    assert found.sending.key_id == 2
    assert {key.key_id for key in found.receiving} == {1, 2}
    later = keys.look(5 + HOLD_NS, FIRST, up=True)
    assert later is not None
    assert {key.key_id for key in later.receiving} == {2}


def test_a_key_is_not_shown() -> None:
    found = end("r1").look(0, FIRST, up=True)
    assert found is not None
    assert found.sending is not None
    assert found.sending.key.hex() not in repr(found)
    assert repr(found.sending.key) not in repr(found)


def test_nothing_is_told_where_messages_are_not_sealed() -> None:
    config = node("r1", Messages.OFF)
    keys = MessageKeys(config, config.interfaces[0])
    assert (keys.watches, keys.seal_bytes) == (False, 0)

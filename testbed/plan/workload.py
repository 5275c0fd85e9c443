"""What clients do and when: subscriptions and publications as scripts of actions.

Here: predicates and messages are read, generated messages drawn, and all put
in order of time. A publication draws from its own random source, so that to
change one leaves the others' messages as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

from nodes.config import Action
from nodes.model import PredicateSyntaxError, Value, format_message, format_predicate, parse_predicate
from testbed.plan.messages import read_message
from testbed.plan.problems import Key
from testbed.plan.quantities import duration_ns
from testbed.plan.sizes import Room
from testbed.plan.source import Source

BEFORE_START_NS = -1


def read_script(
    source: Source, name: str, client: Mapping[str, Any], seed: int, room: Room
) -> tuple[Action, ...]:
    """One client's actions in order of time; what is wrong is noted in the source."""
    key: Key = ("clients", name)
    actions = list(_subscriptions(source, client.get("subscribe") or [], (*key, "subscribe")))
    for i, told in enumerate(client.get("publish") or []):
        if told is not None:
            rng = Random(f"{seed}/{name}/publish/{i}")
            actions.extend(_publications(source, told, (*key, "publish", i), rng, room))
    return tuple(sorted(actions, key=lambda a: a.at_ns))


def _subscriptions(source: Source, entries: list[Any], key: Key) -> Iterator[Action]:
    for i, entry in enumerate(entries):
        if entry is None:
            continue
        here: Key = (*key, i)
        told = {"predicate": entry} if isinstance(entry, str) else entry
        where = here if isinstance(entry, str) else (*here, "predicate")
        text = _predicate(source, told["predicate"], where) if "predicate" in told else ""
        at_ns = duration_ns(told["at"]) if "at" in told else BEFORE_START_NS
        yield Action(at_ns, "subscribe", i + 1, text)
        if "until" in told:
            until_ns = duration_ns(told["until"])
            if until_ns <= at_ns:
                source.complain(
                    (*here, "until"), "the subscription would end before it begins", "a time after at"
                )
            yield Action(until_ns, "unsubscribe", i + 1)


def _predicate(source: Source, text: str, key: Key) -> str:
    try:
        return format_predicate(parse_predicate(text))
    except PredicateSyntaxError as error:
        source.complain_text(key, error)
        return ""


def _publications(
    source: Source, told: Mapping[str, Any], key: Key, rng: Random, room: Room
) -> Iterator[Action]:
    times = _times(source, told, key)
    if "message" not in told:
        return
    where: Key = (*key, "message")
    draw = read_message(source, told["message"], where, rng)
    for n, at_ns in enumerate(times):
        message = draw(n) if draw else None
        if message is None or not _fits(source, message, where, room):
            return  # one complaint a publication, not one a message
        yield Action(at_ns, "publish", text=format_message(message))


def _times(source: Source, told: Mapping[str, Any], key: Key) -> Iterable[int]:
    """When the messages of a publication are due."""
    written = source.written(key)
    if "at" in written and "every" in written:
        source.complain(key, "both at and every say when to publish", "at for one message, every for several")
    elif "every" in written and "count" not in written:
        source.complain(key, "the key count is missing", "count: how many messages to publish")
    elif "at" not in written and "every" not in written:
        source.complain(key, "nothing says when to publish", "at, or every and count")
    elif "at" in written and ("count" in written or "from" in written):
        source.complain(key, "count and from go with every, not with at", "every")
    if "at" in told:
        return [duration_ns(told["at"])]
    if "every" not in told or "count" not in told:
        return [0]  # one message is looked at all the same, for what may be wrong with it
    first, step = duration_ns(told.get("from", "0s")), duration_ns(told["every"])
    return range(first, first + step * told["count"], step) if step else [first] * told["count"]


def _fits(source: Source, message: Mapping[str, Value], key: Key, room: Room) -> bool:
    complaint = room.complaint(message)
    if complaint:
        source.complain(key, *complaint)
    return complaint is None

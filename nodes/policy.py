"""What a policy permits a client (docs/decisions/0038), as pure functions: for those who look on.

The command line and the analysis ask here; a router decides by itself (`nodes.routing.policy`). Messages are
matched by the model. What covers what is the relation of docs/covering.md, for which there is one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from fastpath import cover
from nodes.config import PolicyConfig
from nodes.model import Predicate, Value, matches, parse_predicate
from nodes.wire.codec import encode_filter

ANYTHING = PolicyConfig()


def may_publish(policy: PolicyConfig, message: Mapping[str, Value]) -> bool:
    """Whether a message may be published."""
    return matches(_predicate(policy.publish), message)


def may_subscribe(policy: PolicyConfig, wanted: Predicate) -> bool:
    """Whether one may subscribe to a predicate."""
    return _covered(policy.subscribe, wanted, cover.covers)


def may_advertise(policy: PolicyConfig, offered: Predicate) -> bool:
    """Whether one may advertise what is within a predicate's filters."""
    return _covered(policy.advertise, offered, cover.advertisement_covers)


def is_anything(text: str) -> bool:
    """Whether a predicate of a policy permits anything."""
    return any(not each.constraints for each in _predicate(text).filters)


def _covered(text: str, asked: Predicate, covers: Callable[[bytes, bytes], bool]) -> bool:
    if is_anything(text):
        return True
    wide = _encoded(_predicate(text))
    return all(any(covers(one, each) for one in wide) for each in _encoded(asked))


@lru_cache(maxsize=1 << 12)
def _predicate(text: str) -> Predicate:
    return parse_predicate(text)


@lru_cache(maxsize=1 << 12)
def _encoded(predicate: Predicate) -> tuple[bytes, ...]:
    return tuple(map(encode_filter, predicate.filters))

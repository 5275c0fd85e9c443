"""Posets of siena after any history of subscribing and withdrawing (S1-S3, E15).

Held to the definitions by the reference model. Interfaces 0 to 3 lead to neighbours, 4 and 5 to clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

from fastpath import cover
from nodes.model import parse_filter
from nodes.routing.schemes.siena_poset import Forwarding, Poset
from nodes.wire.codec import encode_filter
from tests.routing.siena_cases import check, model_advertisement_covers, model_covers

NEIGHBOURS = 0b1111
INTERFACES = range(6)
CLIENTS = (4, 5)


class Step(NamedTuple):
    """A subscriber asks for filters that it has not, or withdraws as many."""

    interface: int
    filters: list[bytes]
    coming: bool


History = list[Step]


def atoms() -> st.SearchStrategy[str]:
    """Constraints on few values, so that filters are related more often than not."""
    signs = st.sampled_from(["<", ">", "=", "!=", ">="])
    numeric = st.builds("{} {} {}".format, st.sampled_from("xy"), signs, st.integers(0, 4))
    string = st.builds(
        's {} "{}"'.format, st.sampled_from(["=", ">*"]), st.sampled_from(["a", "ab", "abc", "b"])
    )
    return st.one_of(numeric, string)


def conjunctions() -> st.SearchStrategy[bytes]:
    """One or two constraints."""
    texts = st.lists(atoms(), min_size=1, max_size=2).map(" and ".join)
    return texts.map(lambda text: encode_filter(parse_filter(text)))


def subscriptions() -> st.SearchStrategy[bytes]:
    """Filters that something matches."""
    return conjunctions().map(cover.reduce_filter).filter(lambda f: not cover.contradictory(f))


def advertisements() -> st.SearchStrategy[bytes]:
    """The same texts, read as advertisements."""
    return conjunctions().map(cover.reduce_advertisement)


def histories(
    filters: st.SearchStrategy[bytes], interfaces: range | tuple[int, ...]
) -> st.SearchStrategy[History]:
    """What subscribers do one after the other."""
    some = st.lists(filters, min_size=1, max_size=3)
    return st.lists(st.builds(Step, st.sampled_from(interfaces), some, st.booleans()), max_size=12)


def elsewhere(interface: int, _: bytes = b"") -> int:
    """On a shared tree a filter may go to all neighbours but the one that it came from."""
    return NEIGHBOURS & ~(1 << interface)


def played(
    history: History, made: Poset, each: Callable[[Poset], None] = lambda _: None
) -> dict[int, set[bytes]]:
    """Carry a history out; what every subscriber holds in the end.

    Args:
        history: The steps.
        made: The poset that changes.
        each: Called after every step.
    """
    output: dict[int, set[bytes]] = {i: set() for i in INTERFACES}
    for interface, some, coming in history:
        held = output[interface]
        news = set(some) - held if coming else set(sorted(held)[: len(some)])
        if news:
            (made.subscribe if coming else made.unsubscribe)(interface, sorted(news))
            output[interface] ^= news
            each(made)
    return output


def check_subscriptions(history: History) -> None:
    """Immediate relations alone (S1), subscribers (S2), and where each filter goes (S3)."""
    made = Poset(elsewhere)
    check(made, played(history, made), {i: elsewhere(i) for i in INTERFACES})
    _check_reports(made)


def check_advertisements(history: History) -> None:
    """The same of P_A, where M5 says what covers what."""
    made = Poset(elsewhere, cover.AdvertisementSet)
    output = played(history, made)
    check(made, output, {i: elsewhere(i) for i in INTERFACES}, model_advertisement_covers)
    _check_reports(made)


def check_roots_alone_cause_traffic(history: History) -> None:
    """Of what clients subscribe to, a root goes to every neighbour, and nothing else goes anywhere."""
    made = Poset(elsewhere)
    shown: dict[bytes, int] = {}

    def follow(poset: Poset) -> None:
        roots = {f for f in poset.nodes if not any(model_covers(g, f) for g in poset.nodes)}
        assert {node.filter for node in poset.roots()} == roots
        for change in poset.take_forwardings():
            _follow(shown, change)
        assert shown == dict.fromkeys(roots, NEIGHBOURS)

    played(history, made, follow)


def _follow(shown: dict[bytes, int], change: Forwarding) -> None:
    assert shown.get(change.filter, 0) == change.before
    if change.after:
        shown[change.filter] = change.after
    else:
        shown.pop(change.filter, None)


def _check_reports(made: Poset) -> None:
    """What was to be sent, put together, is where the filters are forwarded."""
    shown: dict[bytes, int] = {}
    for change in made.take_forwardings():
        _follow(shown, change)
    assert shown == {f: node.forwards for f, node in made.nodes.items() if node.forwards}

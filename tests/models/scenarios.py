"""What is searched: small networks of `amsp`, and the changes that happen there at the same time.

Each adds one thing to the first: a link that is lost, a router that starts again, a reply that is late,
data in both directions, a router between the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from nodes.routing.schemes.matchmaker import Matchmaker
from tests.models.matchmaker import MatchmakerAdapter, MatchmakerHost, MatchmakerJudge
from tests.models.network import Change
from tests.models.scenario import Scenario

PAIR = ((0, 1),)
LINE = ((0, 1), (1, 2))


def _hold(router: int, what: str, client: int, text: str) -> Change:
    return Change("give", router, ("hold", what, client, text))


def _measure(router: int, published: int, wanted: int) -> Change:
    return Change("give", router, ("measure", published, wanted))


def _publisher(router: int) -> tuple[Change, Change]:
    """A client advertises something more, and withdraws what it advertised before."""
    return _hold(router, "advertise", 8, "b any integer"), _hold(router, "advertise", 7, "")


def _subscriber(router: int) -> tuple[Change, Change]:
    return _hold(router, "subscribe", 8, "b > 1"), _hold(router, "subscribe", 7, "")


def _rates(router: int) -> tuple[Change, Change]:
    """What it publishes becomes dear, so that its links become s-links; and cheap again."""
    return _measure(router, 5, 0), _measure(router, 0, 0)


def _begin(publisher: int, subscriber: int) -> tuple[Change, ...]:
    """One matches the other, and the links between are p-links."""
    return (
        _hold(publisher, "advertise", 7, "a any integer"),
        _hold(subscriber, "subscribe", 7, "a > 1"),
        _measure(subscriber, 0, 2),
    )


def _measure_both(router: int) -> tuple[Change, Change]:
    return _measure(router, 5, 2), _measure(router, 0, 2)


CUT = Change("cut", 0), Change("mend", 0)
LATE = Change("give", 0, ("late", 1)), Change("give", 0, ("late", 2))

_scenario = partial(Scenario[MatchmakerHost, Matchmaker], MatchmakerAdapter, MatchmakerJudge)
SCENARIOS: Mapping[str, Scenario[MatchmakerHost, Matchmaker]] = {
    "adapt": _scenario(
        "one publishes, one subscribes; both change what they hold, and the link is marked s and p again",
        PAIR,
        _begin(0, 1),
        (_publisher(0), _subscriber(1), _rates(0)),
    ),
    "flap": _scenario(
        "one subscribes to something more while the link is marked s, is lost, and comes back",
        PAIR,
        _begin(0, 1),
        (_subscriber(1)[:1], _rates(0)[:1], CUT),
    ),
    "lost": _scenario(
        "as the first, with what is subscribed to alone, and the link is lost and comes back",
        PAIR,
        _begin(0, 1),
        (_subscriber(1), _rates(0), CUT),
    ),
    "lost-above": _scenario(
        "as the first, with what is advertised alone, and the link is lost and comes back",
        PAIR,
        _begin(0, 1),
        (_publisher(0), _rates(0), CUT),
    ),
    "restart": _scenario(
        "as the first, and the subscriber's router starts again",
        PAIR,
        _begin(0, 1),
        (_publisher(0), _subscriber(1)[:1], _rates(0), (Change("restart", 1),)),
    ),
    "restart-above": _scenario(
        "as the first, and the publisher's router starts again, which decides the marks",
        PAIR,
        _begin(0, 1),
        (_publisher(0)[:1], _subscriber(1), _rates(0), (Change("restart", 0),)),
    ),
    "late": _scenario(
        "as the first, and a reply is late twice, so that the change is asked for again",
        PAIR,
        _begin(0, 1),
        (_publisher(0), _subscriber(1), _rates(0), LATE),
    ),
    "both-ways": _scenario(
        "both publish and subscribe, and both directions of the link are marked anew",
        PAIR,
        (*_begin(0, 1), *_begin(1, 0)),
        (_publisher(0)[:1], _subscriber(1)[1:], _rates(0), _measure_both(1)),
    ),
    "line": _scenario(
        "a router is between the two, so that each decides one of the links",
        LINE,
        _begin(0, 2),
        (_publisher(0), _subscriber(2), _rates(0)),
    ),
}

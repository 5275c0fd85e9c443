"""Goldens of the addressing paper with advertisements, over routers: ADR Tables 2 and 3, Figs. 1, 3 to 5."""

from __future__ import annotations

import pytest

from fastpath.fib import DropReason
from nodes.config import Action
from nodes.model import parse_message
from tests.routing.fabric import SECOND, Network, configure
from tests.routing.siena_cases import ADVERTISED, of_siena
from tests.routing.test_siena import quiet, subscribe, unsubscribe
from tests.routing.test_siena_advertisements import BOTH, advertise, steps, unadvertise

LOGINS = 'what = "alarm" and what = "login" and user any string'
STOCKS = "class any string and exchange any string and symbol any string and change any float"
FIGURE_1 = 'class >* "finance/exchanges/" and exchange = "NYSE" and symbol = "DIS" and change < 0.0'
TABLE_3 = [
    ('what = "alarm"', True),
    ('what = "alarm", date = @1970-01-01T02:40:03Z', False),
    ('what = "login", user = "ingmar"', True),
    ('what = "logout", user = "ingmar"', False),
]


def delivered(advertised: str, wanted: str, *messages: str) -> tuple[list[int], int]:
    """Which messages reach who wants them, by their numbers, and how many the first router refuses."""
    scripts = {
        "p": [Action(-1, "advertise", 1, advertised)],
        "s": [Action(-1, "subscribe", 1, wanted)],
    }
    configs = of_siena(configure([(1, 2, 1)], {"p": 1, "s": 2}, routers=2), ADVERTISED)
    net = Network(configs, 1, scripts=scripts)
    net.converge(within_ns=5 * SECOND)
    for message in messages:
        net.client("p").core.publish(net.now_ns, parse_message(message))
    net.after("p")
    net.run(2 * SECOND)
    assert all(reason is DropReason.UNADVERTISED for _, reason in net.forward_drops)
    found: list[int] = [event["sequence"] for event in net.events if event["event"] == "deliver"]  # type: ignore[misc]
    return found, len(net.forward_drops)


def test_M5_of_table_3_what_is_advertised_is_delivered_and_the_rest_refused() -> None:
    arrived, refused = delivered(LOGINS, "all", *(message for message, _ in TABLE_3))
    assert arrived == [n for n, (_, within) in enumerate(TABLE_3, 1) if within]
    assert refused == sum(not within for _, within in TABLE_3)


@pytest.mark.parametrize(
    ("subscription", "message", "expected"),
    [
        ('what = "alarm"', 'what = "alarm", date = @1970-01-01T02:40:03Z', True),
        ('what = "alarm" and level > 3', 'what = "alarm", date = @1970-01-01T02:40:03Z', False),
        ('what = "alarm" and level > 3 and level < 7', 'what = "alarm", level = 10', False),
        ('what = "alarm" and level > 3 and level < 7', 'what = "alarm", level = 5', True),
    ],
)
def test_M4_of_table_2_an_advertisement_of_all_alarms_changes_no_answer(
    subscription: str, message: str, expected: bool
) -> None:
    arrived, refused = delivered(
        'what = "alarm" and level any integer and date any time', subscription, message
    )
    assert (arrived, refused) == ([1] if expected else [], 0)


def test_M4_the_filter_of_figure_1_travels_to_who_advertises_stocks_and_selects_their_falls() -> None:
    fall, rise, bond = (
        f'class = "finance/{kind}", exchange = "NYSE", symbol = "DIS", change = {change}'
        for kind, change in (("exchanges/stock", -0.5), ("exchanges/stock", 0.5), ("bonds", -0.5))
    )
    assert delivered(STOCKS, FIGURE_1, fall, rise, bond) == ([1], 0)
    assert delivered(STOCKS, FIGURE_1, rise, bond) == ([], 0)
    assert delivered('class = "finance/bonds" and change any float', FIGURE_1, bond) == ([], 1)


ANY, ARN = "airline any string", 'airline = "UA" and dest = "ARN"'
FLIGHTS = "airline any string and dest any string"


def server_1(options: object, *publishers: int) -> Network:
    """Server 1 with the neighbours 2, 3 and 4 and the client a (ADR Figs. 3 to 5); these advertise flights.

    ::

        s2, p2 - r2 - r1 - r4 - p4
                      |\\- a
            s3, p3 - r3
    """
    places = {"a": 1, "s2": 2, "s3": 3, "p2": 2, "p3": 3, "p4": 4}
    net = quiet([(1, 2, 1), (1, 3, 1), (1, 4, 1)], places, options)  # type: ignore[arg-type]
    for publisher in publishers:
        advertise(net, f"p{publisher}", FLIGHTS)
    return net


def said_by_1(net: Network, mark: int) -> set[str]:
    """What server 1 told its neighbours of subscriptions."""
    return {step for step in steps(net, mark) if step.startswith("r1 ") and "subscribe" in step}


def test_S4_figures_3_to_5_where_all_advertise_flights_all_goes_as_without_advertisements() -> None:
    net = server_1(ADVERTISED, 2, 3, 4)
    mark = len(net.sent)
    subscribe(net, "s3", ANY)
    assert said_by_1(net, mark) == {f"r1 r2 subscribe {ANY}", f"r1 r4 subscribe {ANY}"}, "Fig. 3"
    mark = len(net.sent)
    subscribe(net, "s2", ARN)
    assert said_by_1(net, mark) == {f"r1 r3 subscribe {ARN}"}, "Fig. 4: 4 has what covers it"
    mark = len(net.sent)
    subscribe(net, "a", ANY)
    assert said_by_1(net, mark) == {
        f"r1 r3 subscribe {ANY}",
        f"r1 r3 unsubscribe {ARN}",
    }, "Fig. 5: what 3 had of it is covered now"


@pytest.mark.parametrize("options", BOTH, ids=str)
def test_S4_E14_figures_3_to_5_where_4_alone_advertises_flights_all_goes_to_4(options: object) -> None:
    net = server_1(options, 4)
    mark = len(net.sent)
    subscribe(net, "s3", ANY)
    assert said_by_1(net, mark) == {f"r1 r4 subscribe {ANY}"}
    mark = len(net.sent)
    subscribe(net, "s2", ARN)
    wanted = {step for step in said_by_1(net, mark) if " r4 " not in step}
    assert wanted == set(), "neither 2 nor 3 has what it overlaps"
    unadvertise(net, "p4")
    mark = len(net.sent)
    advertise(net, "p3", 'airline = "UA" and dest any string')
    drawn = {step for step in said_by_1(net, mark) if " subscribe " in step}
    assert drawn == {f"r1 r3 subscribe {ARN}"}, "what waited is drawn; 3 is not told what came from it"


def test_S1_of_advertisements_the_same_figures_hold_in_P_A() -> None:
    """With advertisements in the roles of subscriptions: covered ones go where their cover did not."""
    net = server_1(ADVERTISED)
    mark = len(net.sent)
    advertise(net, "p3", FLIGHTS)
    assert told_by_1(net, mark) == {f"r1 r2 advertise {FLIGHTS}", f"r1 r4 advertise {FLIGHTS}"}, "Fig. 3"
    mark = len(net.sent)
    advertise(net, "p2", ARN)
    assert told_by_1(net, mark) == {f"r1 r3 advertise {ARN}"}, "Fig. 4"
    mark = len(net.sent)
    advertise(net, "a", FLIGHTS)
    assert told_by_1(net, mark) == {
        f"r1 r3 advertise {FLIGHTS}",
        f"r1 r3 unadvertise {ARN}",
    }, "Fig. 5"


def told_by_1(net: Network, mark: int) -> set[str]:
    return {step for step in steps(net, mark) if step.startswith("r1 ") and "advertise" in step}


def test_E15_what_figure_5_covered_comes_back_when_a_withdraws() -> None:
    net = server_1(ADVERTISED, 2, 3, 4)
    for client, wanted in (("s3", ANY), ("s2", ARN), ("a", ANY)):
        subscribe(net, client, wanted)
    mark = len(net.sent)
    unsubscribe(net, "a")
    assert said_by_1(net, mark) == {f"r1 r3 subscribe {ARN}", f"r1 r3 unsubscribe {ANY}"}

"""Changes of links in use: the words of scenarios, over what the link does now."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.plan.impairment import Ways, changed, words
from testbed.plan.model import Impairment
from testbed.plan.problems import ScenarioError

SLOW = Ways(Impairment(delay_ns=5_000_000), Impairment(delay_ns=7_000_000, loss=0.5))


@pytest.mark.parametrize(
    ("reported", "there", "back"),
    [
        ({"delay": "30ms"}, {"delay": "30ms"}, {"delay": "30ms", "loss": 0.5}),
        ({"back": {"loss": 0.1}}, {"delay": "5ms"}, {"delay": "7ms", "loss": 0.1}),
        (
            {"loss": 0.2, "back": {"rate": "1500kbit"}},
            {"delay": "5ms", "loss": 0.2},
            {"delay": "7ms", "loss": 0.2, "rate": "1500kbit"},
        ),
        ({"delay": None}, {}, {"loss": 0.5}),
        ({"back": {"loss": None, "delay": "1.5ms"}}, {"delay": "5ms"}, {"delay": "1500us"}),
        ({}, {"delay": "5ms"}, {"delay": "7ms", "loss": 0.5}),
    ],
)
def test_a_change_is_laid_over_what_the_link_does(
    reported: dict[str, Any], there: dict[str, Any], back: dict[str, Any]
) -> None:
    made = changed(SLOW, reported)
    assert words(made.there) == there
    assert words(made.back) == back
    assert changed(SLOW.turned(), reported) == changed(SLOW, reported).turned() or "back" in reported


@pytest.mark.parametrize(
    ("reported", "why"),
    [
        ({"delai": "30ms"}, "did you mean delay"),
        ({"delai": None}, "did you mean delay"),
        ({"delay": 30}, "delay"),
        ({"delay": "thirty"}, "5ms, 100us"),
        ({"loss": 1.5}, "more than the greatest"),
        ({"loss": "much"}, "loss"),
        ({"jitter": "9ms"}, "greater than the delay"),
        ({"back": {"queue_packets": 7}}, "on its way back: queue_packets: nothing waits"),
        ({"mtu": 900}, "unknown key"),
        ({"back": {"back": {}}}, "unknown key"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_scenarios_own_words(
    reported: dict[str, Any], why: str
) -> None:
    with pytest.raises(ScenarioError, match=why):
        changed(SLOW, reported)

"""Echoes over the network between two machines."""

from __future__ import annotations

import os

import pytest

from testbed.cluster.round_trip import least_ns, left_to_do
from testbed.plan.model import Impairment

raw_sockets = pytest.mark.skipif(os.geteuid() != 0, reason="raw sockets need root")


@raw_sockets
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost"])
def test_a_machine_that_answers_is_measured(address: str) -> None:
    took_ns = least_ns(address)
    assert took_ns is not None
    assert 0 < took_ns < 100_000_000


def test_a_name_that_nobody_has_is_an_error() -> None:
    with pytest.raises(OSError, match=r"not known|Temporary failure"):
        least_ns("no-such-machine.invalid")


def test_a_link_delays_less_by_what_the_network_under_it_takes_and_does_all_else_as_before() -> None:
    asked = Impairment(delay_ns=5_000_000, jitter_ns=1_000_000, loss=0.1)
    assert left_to_do(asked, 2_000_000) == Impairment(delay_ns=3_000_000, jitter_ns=1_000_000, loss=0.1)
    assert left_to_do(asked, 7_000_000).delay_ns == 0
    undelayed = Impairment(loss=0.1)
    assert left_to_do(undelayed, 2_000_000) == undelayed

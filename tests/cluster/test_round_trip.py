"""Echoes over the network between two machines."""

from __future__ import annotations

import os

import pytest

from testbed.cluster.round_trip import least_ns

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="raw sockets need root")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost"])
def test_a_machine_that_answers_is_measured(address: str) -> None:
    took_ns = least_ns(address)
    assert took_ns is not None
    assert 0 < took_ns < 100_000_000


def test_a_name_that_nobody_has_is_an_error() -> None:
    with pytest.raises(OSError, match=r"not known|Temporary failure"):
        least_ns("no-such-machine.invalid")

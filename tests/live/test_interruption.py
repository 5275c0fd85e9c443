"""What asks an emulated run to end is answered at once, also while something is being made."""

from __future__ import annotations

import os
import signal

import pytest

from testbed.live.interruption import Shield
from testbed.runs.interruption import Interruption


def interrupted_twice_while_building(made: list[str]) -> None:
    with Shield() as shield, shield.hold():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        made.append("network")


def test_a_build_that_is_interrupted_says_that_it_cleans_up(capfd: pytest.CaptureFixture[str]) -> None:
    made: list[str] = []
    with pytest.raises(Interruption, match="SIGTERM"):
        interrupted_twice_while_building(made)
    first, second = capfd.readouterr().err.splitlines()
    assert first == "interrupted: what is being made is finished first, then all of it is removed"
    assert second.startswith("already cleaning up")
    assert made == ["network"]

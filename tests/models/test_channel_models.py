"""What can happen between two ends of a channel, all of it: a slice of `make test-models`.

That it finds anything is tried with ends that do wrong.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from random import Random

import pytest

from nodes.wire.codec import decode, encode
from nodes.wire.packets import Control
from tests.models.__main__ import main, report
from tests.models.channels import CHANNELS, ChannelAdapter, ChannelScenario, Did, End, Look
from tests.models.machines import Input
from tests.models.search import Search, replay

BRIEF = ChannelScenario(
    "two payloads, and a packet that is lost or doubled", ((b"1", b"2"), ()), lost=1, doubled=1
)


def test_whatever_is_lost_doubled_or_late_all_arrives_once_and_in_order(seed: int) -> None:
    model, machines = CHANNELS["channel-parts"].model()
    found = Search(model).run()
    assert found.counterexample is None, found.counterexample
    assert found.states > 10_000
    assert {what[0] for what in machines.inputs} == {"send", "receive", "timer"}
    assert machines.disagreements(Random(seed), tries=50) == []


class NeverResends(ChannelAdapter):
    """It has no timer."""

    def look(self, core: End) -> Hashable:
        return Look(False, core.channel.idle)


class HandsUpTwice(ChannelAdapter):
    """What has arrived is handed up twice."""

    def give(self, core: End, what: Input) -> Hashable:
        did = super().give(core, what)
        assert isinstance(did, Did)
        return did._replace(arrived=did.arrived * 2)


class TakesWhatComes(ChannelAdapter):
    """It takes each packet for the next one."""

    def give(self, core: End, what: Input) -> Hashable:
        if what[0] == "receive" and isinstance(packet := decode(bytes(what[1])), Control):
            renumbered = packet._replace(sequence=core.channel._in.received + 1)
            return super().give(core, ("receive", encode(renumbered)))
        return super().give(core, what)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (NeverResends, "an end waits for what will not come"),
        (HandsUpTwice, "arrives as payload 2 of a"),
        (TakesWhatComes, "arrives as payload 1 of a"),
    ],
)
def test_an_end_that_does_wrong_is_found_and_the_way_there_can_be_gone_again(
    wrong: type[ChannelAdapter], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, _ = BRIEF.model(wrong)
    found = Search(model).run().counterexample
    assert found is not None
    assert said in found.wrong
    report("channel", found, tmp_path)
    assert found.steps[-1] in capsys.readouterr().out
    *_, (last, _, wrong_there) = replay(model, found.steps)
    assert (last, *wrong_there) == (found.steps[-1], found.wrong)


def test_the_command_searches_channels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "channel-parts"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "channel-parts"

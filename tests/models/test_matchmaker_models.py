"""What can happen between routers of `amsp`, all of it (K7, K8; decision 31): a slice of `make test-models`.

That it finds anything is tried with defects that are planted into the real code.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fastpath.meeting import Telling
from nodes.model.meeting import Key
from nodes.routing.schemes.amsp import Amsp
from nodes.routing.schemes.matchmaker import Matchmaker
from nodes.scheme_catalog import complete
from nodes.wire.matchmaker_payloads import Descriptor, MarkingChange
from nodes.wire.packets import Kind
from tests.models.__main__ import main, report
from tests.models.matchmaker import OPTIONS
from tests.models.scenarios import SCENARIOS
from tests.models.search import Search, replay


def test_K7_whatever_the_order_of_six_changes_no_match_is_lost_and_nobody_waits_for_ever(seed: int) -> None:
    scenario = SCENARIOS["adapt"]
    model, machines = scenario.model()
    found = Search(model).run()
    assert found.counterexample is None, found.counterexample
    assert scenario.changes == 6
    assert found.states > 3_500
    assert {Kind.CHANGE_MARKING, Kind.CHANGE_MARKING_REPLY, Kind.CD_UPDATE} <= {
        what[2] for what in machines.inputs if what[0] == "take"
    }
    assert machines.disagreements(Random(seed), tries=50) == []


def test_K7_a_link_that_is_lost_and_comes_back_at_any_moment_loses_no_match(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--only", "flap"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split()[:2] == ["flap", str(SCENARIOS["flap"].changes)]


Listed = tuple[list[Descriptor], list[Telling]]


class AsksWithNothing(Amsp):
    """A planted defect: who asks for a p-link sends its PCDs to nobody."""

    def _tell_all_but(self, now_ns: int, interface: int, published: bool) -> Listed:
        listed = super()._tell_all_but(now_ns, interface, published)
        return ([], []) if published else listed


class RepliesWithNothing(Amsp):
    """A planted defect: the SCDs that are to be in the reply are dropped."""

    def _tell_all_but(self, now_ns: int, interface: int, published: bool) -> Listed:
        listed = super()._tell_all_but(now_ns, interface, published)
        return listed if published else ([], [])


class RemovesMatches(Amsp):
    """As printed (MM 5.4): who gets no PCDs any more removes the matches that they made."""

    def _take_change(self, now_ns: int, interface: int, payload: bytes) -> None:
        if not MarkingChange.decode(payload).marking:
            for fields, held in self._meeting.held().items():
                key = Key(*fields)
                if interface in held and not key.is_match and key.publisher:
                    self._meeting.withdraw(interface, key, kept=False)
        super()._take_change(now_ns, interface, payload)


class RepliesOnce(Amsp):
    """A planted defect: only the first change to an s-link and the first to a p-link are answered."""

    def _take_change(self, now_ns: int, interface: int, payload: bytes) -> None:
        change = MarkingChange.decode(payload)
        if change.number < 2 or not change.marking:
            super()._take_change(now_ns, interface, payload)


class KeepsTheMark(Amsp):
    """A planted defect: a link that comes back begins as it was marked, at one end."""

    was_p = False

    def lost(self, now_ns: int, interface: int) -> None:
        self.was_p = self._links[interface].is_p_out
        super().lost(now_ns, interface)

    def joined(self, now_ns: int, interface: int, neighbour: int) -> None:
        super().joined(now_ns, interface, neighbour)
        self._links[interface].is_p_out |= self.was_p
        self._links[interface].show()


@pytest.mark.parametrize(
    ("defect", "scenario", "wrong"),
    [
        (AsksWithNothing, "adapt", "r1 has sent something else to r2 than r2 has of it"),
        (RepliesWithNothing, "adapt", "r2 has sent something else to r1 than r1 has of it"),
        (RemovesMatches, "adapt", "and only a marking has changed"),
        (RepliesOnce, "adapt", "r1 waits for a reply, and none is under way"),
        (KeepsTheMark, "flap", "r1 takes a link for marked otherwise at its other end"),
    ],
)
def test_a_planted_defect_is_found_and_its_way_can_be_replayed(
    defect: type[Amsp], scenario: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def make() -> Matchmaker:
        return defect(complete("amsp", OPTIONS))

    found = Search(SCENARIOS[scenario].model(make)[0]).run().counterexample
    assert found is not None
    assert wrong in found.wrong
    *_, (_, _, at_the_end) = replay(SCENARIOS[scenario].model(make)[0], found.steps)
    assert found.wrong in at_the_end
    report(scenario, found, tmp_path)
    assert f"after {len(found.steps)} steps" in capsys.readouterr().out

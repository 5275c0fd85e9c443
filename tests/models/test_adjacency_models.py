"""What can happen between two neighbours, all of it: a slice of `make test-models`.

That it finds anything is tried with ends that do wrong.
"""

from __future__ import annotations

from random import Random

import pytest

from nodes.routing import adjacency
from nodes.routing.adjacency import Event, State, Step
from tests.models.__main__ import main
from tests.models.adjacencies import AdjacencyScenario
from tests.models.search import Search, replay

BRIEF = AdjacencyScenario("a crash, and something said before it that comes late", crashed=1, spoken=1)
CRASH = AdjacencyScenario("a crash", crashed=1)
LATE = AdjacencyScenario("an end goes silent, and something comes again", late=1, doubled=1)


def test_no_session_comes_back_and_the_ends_agree_on_one_at_last(seed: int) -> None:
    model, machines = BRIEF.model()
    found = Search(model).run()
    assert found.counterexample is None, found.counterexample
    assert found.states > 10_000
    assert {what[0] for what in machines.inputs} == {"receive", "speak", "crash", "tick"}
    assert machines.disagreements(Random(seed), tries=50) == []


@pytest.mark.parametrize(
    ("scenario", "moved", "step", "said"),
    [
        # It keeps its name when it gives a session up.
        (LATE, (State.UP, Event.SILENCE), Step(State.DOWN, hello=True), "again"),
        # It goes on with a neighbour that has started anew.
        (CRASH, (State.UP, Event.RESTART), Step(State.UP), "it never becomes quiet again"),
    ],
)
def test_an_end_that_does_wrong_is_found_and_the_way_there_can_be_gone_again(
    scenario: AdjacencyScenario,
    moved: tuple[State, Event],
    step: Step,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(adjacency.TRANSITIONS, moved, step)  # type: ignore[arg-type]
    model, _ = scenario.model()
    found = Search(model).run().counterexample
    assert found is not None
    assert said in found.wrong
    *_, (last, _, _) = replay(model, found.steps)
    assert last == found.steps[-1]


def test_the_command_searches_adjacencies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "adjacency-said"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "adjacency-said"

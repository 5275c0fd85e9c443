"""The search itself, over models small enough to see what it must find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tests.models.search import Found, Search, SearchTooLargeError, Successor, replay


class Drawn:
    """A model that is written down: by state, the states that follow. Ones in capitals are wrong."""

    def __init__(self, steps: Mapping[str, str], quiet: str) -> None:
        self._steps = steps
        self._quiet = quiet

    def start(self) -> str:
        return "a"

    def successors(self, state: str) -> Iterable[Successor[str]]:
        for each in self._steps.get(state, ""):
            yield Successor(f"to {each}", each, "a bad step" if each == "x" else "")

    def quiet(self, state: str) -> bool:
        return state in self._quiet

    def problems(self, state: str) -> Iterable[str]:
        return ["a bad state"] if state.isupper() else []


def found(steps: Mapping[str, str], quiet: str) -> Found:
    return Search(Drawn(steps, quiet)).run()


def test_each_state_is_visited_once_and_each_step_counted() -> None:
    """Two ways lead to d."""
    assert found({"a": "bc", "b": "d", "c": "d", "d": "a"}, "d") == Found(4, 5, 1, 2)


def wrong(steps: Mapping[str, str], quiet: str) -> tuple[str, tuple[str, ...]]:
    example = found(steps, quiet).counterexample
    assert example is not None
    return example.wrong, example.steps


def test_the_shortest_way_to_a_bad_state_is_found() -> None:
    assert wrong({"a": "bd", "b": "c", "c": "D", "d": "D"}, "abcd") == ("a bad state", ("to d", "to D"))


def test_a_bad_step_is_found() -> None:
    assert wrong({"a": "b", "b": "x"}, "abx") == ("a bad step", ("to b", "to x"))


def test_where_nothing_can_happen_and_something_is_under_way_is_a_deadlock() -> None:
    assert wrong({"a": "bc", "b": "a"}, "a") == (
        "nothing can happen any more, and something is under way",
        ("to c",),
    )


def test_from_where_no_quiet_state_can_be_reached_is_a_livelock() -> None:
    assert wrong({"a": "bc", "b": "a", "c": "d", "d": "c"}, "a") == (
        "it never becomes quiet again",
        ("to c",),
    )


def test_a_model_that_is_too_large_is_refused() -> None:
    with pytest.raises(SearchTooLargeError, match="more than 2 states"):
        Search(Drawn({"a": "b", "b": "c"}, "c"), limit=2).run()


def test_a_counterexample_can_be_replayed_step_by_step() -> None:
    model = Drawn({"a": "bd", "d": "D"}, "ab")
    taken = [*replay(model, ["to d", "to D"])]
    assert taken == [("the start", "a", ()), ("to d", "d", ()), ("to D", "D", ("a bad state",))]


def test_a_step_that_is_not_possible_is_named_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="'to z' is not possible here; this is: to b, to d"):
        [*replay(Drawn({"a": "bd"}, "a"), ["to z"])]

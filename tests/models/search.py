"""Explicit-state search: visits every state that a model can come to, once, and says what is wrong with any.

A model is a start, and for each state the steps that are possible there. What must hold:

- nothing is wrong in a state, nor with a step (the model says what would be);
- a state is *quiet*, or something can still happen in it (no deadlock);
- from every state a quiet one can be reached (no livelock).

States are visited in the order of their distance from the start, so a counterexample is a shortest one.

Not here: what states are (`network`), and how real code becomes a model (`machines`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

State = TypeVar("State", bound=Hashable)
NONE = -1
START = "the start"


class Successor(NamedTuple, Generic[State]):
    """What a step leads to."""

    step: str
    state: State
    wrong: str = ""
    """What is wrong with the step itself."""


class Model(Protocol[State]):
    """What is searched."""

    def start(self) -> State:
        """The first state."""

    def successors(self, state: State) -> Iterable[Successor[State]]:
        """What can happen in a state, always in the same order."""

    def quiet(self, state: State) -> bool:
        """Whether nothing is under way: it may stay like this for good."""

    def problems(self, state: State) -> Iterable[str]:
        """What is wrong in a state."""


@dataclass(frozen=True)
class Counterexample:
    """A way from the start to what is wrong."""

    wrong: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    states: int
    transitions: int
    quiet: int
    depth: int
    """The distance from the start of the farthest state."""
    counterexample: Counterexample | None = None


class SearchTooLargeError(Exception):
    """The model has more states than were allowed."""


class Search(Generic[State]):
    """One search; `run` carries it out.

    Args:
        model: What is searched.
        limit: More states than this are an error.
        progress: Called with the numbers of states seen and expanded, now and then.
    """

    PROGRESS_EVERY = 50_000

    def __init__(
        self, model: Model[State], limit: int = 5_000_000, progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._model = model
        self._limit = limit
        self._progress = progress
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._parents = array("q")
        self._depths = array("q")
        self._steps: list[str] = []
        """By state, the step by which it was first reached."""
        self._sources, self._targets = array("q"), array("q")
        """By transition, the numbers of its states."""
        self._quiet: list[int] = []

    def run(self) -> Found:
        """Visit all states, or those up to the first in which something is wrong.

        Raises:
            SearchTooLargeError: There are more than the limit.
        """
        wrong = self._visit(NONE, "", self._model.start())
        number = 0
        while wrong is None and number < len(self._states):
            wrong = self._expand(number)
            number += 1
            if self._progress is not None and number % self.PROGRESS_EVERY == 0:
                self._progress(len(self._states), number)
        return self._found(wrong or self._cannot_become_quiet())

    def _expand(self, number: int) -> Counterexample | None:
        state, dead = self._states[number], True
        for step, following, wrong in self._model.successors(state):
            dead = False
            if wrong:
                return Counterexample(wrong, (*self._way(number), step))
            known = self._numbers.get(following)
            if known is None:
                found = self._visit(number, step, following)
                if found is not None:
                    return found
                known = self._numbers[following]
            self._sources.append(number)
            self._targets.append(known)
        if dead and not self._model.quiet(state):
            return Counterexample(
                "nothing can happen any more, and something is under way", self._way(number)
            )
        return None

    def _visit(self, parent: int, step: str, state: State) -> Counterexample | None:
        number = len(self._states)
        if number == self._limit:
            raise SearchTooLargeError(f"there are more than {self._limit:,} states")
        self._numbers[state] = number
        self._states.append(state)
        self._parents.append(parent)
        self._depths.append(0 if parent == NONE else self._depths[parent] + 1)
        self._steps.append(step)
        if self._model.quiet(state):
            self._quiet.append(number)
        for wrong in self._model.problems(state):
            return Counterexample(wrong, self._way(number))
        return None

    def _way(self, number: int) -> tuple[str, ...]:
        steps = list[str]()
        while self._parents[number] != NONE:
            steps.append(self._steps[number])
            number = self._parents[number]
        return tuple(reversed(steps))

    def _cannot_become_quiet(self) -> Counterexample | None:
        """The nearest state from which no quiet one can be reached."""
        first = array("q", [NONE]) * len(self._states)
        following = array("q", [NONE]) * len(self._targets)
        for transition, target in enumerate(self._targets):
            following[transition], first[target] = first[target], transition
        reached = bytearray(len(self._states))
        waiting = list(self._quiet)
        for number in waiting:
            reached[number] = 1
        while waiting:
            transition = first[waiting.pop()]
            while transition != NONE:
                source = self._sources[transition]
                if not reached[source]:
                    reached[source] = 1
                    waiting.append(source)
                transition = following[transition]
        stuck = reached.find(0)
        return None if stuck == NONE else Counterexample("it never becomes quiet again", self._way(stuck))

    def _found(self, wrong: Counterexample | None) -> Found:
        return Found(
            len(self._states), len(self._targets), len(self._quiet), max(self._depths, default=0), wrong
        )


def replay(model: Model[State], steps: Sequence[str]) -> Iterable[tuple[str, State, tuple[str, ...]]]:
    """The start, then steps taken by their names: each with its state, and what is wrong there.

    Raises:
        ValueError: A step is not possible where it stands.
    """
    state = model.start()
    yield START, state, (*model.problems(state),)
    for step in steps:
        possible = {each.step: each for each in model.successors(state)}
        if step not in possible:
            raise ValueError(f"{step!r} is not possible here; this is: {', '.join(possible) or 'nothing'}")
        state = possible[step].state
        wrong = possible[step].wrong
        yield step, state, (*((wrong,) if wrong else ()), *model.problems(state))

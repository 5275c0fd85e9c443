"""Real sans-IO cores as machines with states that can be compared, kept, and gone back to.

A core is deterministic: what it does follows from what it was given. So a state of it is named by its
content (`content`), whatever the way to it, and what an input does there is found out once. To go back to
a state, the inputs that led to it are given to a new core: nothing has to be copied, compiled parts
neither.

Left out of the content is what cannot make a difference; each adapter names it, and `disagreements`
tries whether that holds.

Not here: what a core is given (adapters such as `matchmaker`).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

Core = TypeVar("Core")
Input = tuple[Hashable, ...]
ROOMS = ("nodes", "tests")
"""Whose objects are what their attributes say."""
LIVE = 4_000
"""So many cores are kept in the state they are in."""


class Adapter(Protocol[Core]):
    """How cores of one kind are made, asked and looked at."""

    def make(self, name: Hashable) -> Core:
        """A core that was given nothing yet."""

    def give(self, core: Core, what: Input) -> Hashable:
        """Give it something: what it does outside of itself."""

    def content(self, core: Core) -> Hashable:
        """All of its state that can make a difference."""

    def look(self, core: Core) -> Hashable:
        """What those who judge states want to know of it."""


@dataclass(frozen=True)
class _Came:
    """How a state was first reached."""

    name: Hashable
    before: int
    what: Input


class Machines(Generic[Core]):
    """The states that cores have come to, by number."""

    def __init__(self, adapter: Adapter[Core]) -> None:
        self.looks: list[Hashable] = []
        """By state, what `Adapter.look` says."""
        self._adapter = adapter
        self._came: list[_Came] = []
        self._numbers: dict[Hashable, int] = {}
        self._live: dict[int, Core] = {}
        self._steps: dict[tuple[int, Input], tuple[int, Hashable]] = {}

    @property
    def transitions(self) -> int:
        """How many inputs were given to how many states."""
        return len(self._steps)

    @property
    def inputs(self) -> set[Input]:
        """What was given to any of them."""
        return {what for _, what in self._steps}

    def new(self, name: Hashable) -> int:
        """The first state of a core."""
        return self._number(self._adapter.make(name), _Came(name, -1, ()))

    def step(self, state: int, what: Input) -> tuple[int, Hashable]:
        """The state after an input, and what the core did."""
        known = self._steps.get((state, what))
        if known is None:
            core = self._live.pop(state) if state in self._live else self._remade(state)
            did = self._adapter.give(core, what)
            known = self._number(core, _Came(self._came[state].name, state, what)), did
            self._steps[state, what] = known
        return known

    def disagreements(self, rng: random.Random, tries: int) -> list[str]:
        """Where two ways to one state were followed by different things; should be none."""
        known = sorted(self._steps)
        found = []
        for state, what in rng.sample(known, min(tries, len(known))):
            others = [(s, w) for (s, w), (after, _) in self._steps.items() if after == state]
            for before, last in others[:3]:
                core = self._remade(before)
                self._adapter.give(core, last)
                did = self._adapter.give(core, what)
                after = self._numbers.get((self._came[state].name, self._adapter.content(core)))
                if (after, did) != self._steps[state, what]:
                    found.append(f"state {state}, reached from {before} by {last}, given {what}")
        return found

    def _number(self, core: Core, came: _Came) -> int:
        key = came.name, self._adapter.content(core)
        number = self._numbers.setdefault(key, len(self._came))
        if number == len(self._came):
            self._came.append(came)
            self.looks.append(self._adapter.look(core))
        self._live.setdefault(number, core)
        if len(self._live) > LIVE:
            del self._live[next(iter(self._live))]
        return number

    def _remade(self, state: int) -> Core:
        inputs, name = list[Input](), self._came[state].name
        while self._came[state].before >= 0:
            inputs.append(self._came[state].what)
            state = self._came[state].before
        core = self._adapter.make(name)
        for what in reversed(inputs):
            self._adapter.give(core, what)
        return core


def names_of(thing: object) -> set[str]:
    """The attributes that an object has, also one of a compiled class, which keeps none in a dict."""
    compiled = (name for kind in type(thing).__mro__ for name in kind.__dict__.get("__mypyc_attrs__", ()))
    kept = {name for name in compiled if name != "__dict__" and hasattr(thing, name)}
    return kept | vars(thing).keys() if hasattr(thing, "__dict__") else kept


Writers = Mapping[type, Callable[..., object]]


def content(thing: object, left_out: Collection[tuple[type, str]], writers: Writers) -> Hashable:
    """What an object holds, however deep, as something that can be compared and hashed.

    Mappings and sets are taken without their order.

    Args:
        thing: The object.
        left_out: (Class, attribute) that make no difference.
        writers: What stands for objects of a class in their place.

    Raises:
        TypeError: There is something in it that nothing is known of.
    """

    def walk(thing: object) -> Hashable:
        if isinstance(thing, bytearray):
            return bytes(thing)
        if thing is None or isinstance(thing, (bool, int, float, str, bytes, Enum, type)):
            return thing
        for kind, write in writers.items():
            if isinstance(thing, kind):
                return (kind.__name__, walk(write(thing)))
        if isinstance(thing, Mapping):
            return ("mapping", frozenset((walk(k), walk(v)) for k, v in thing.items()))
        if isinstance(thing, (set, frozenset)):
            return ("set", frozenset(map(walk, thing)))
        if isinstance(thing, (list, tuple, deque)):
            return (type(thing).__name__, *map(walk, thing))
        return (type(thing).__name__, *((name, walk(value)) for name, value in attributes(thing)))

    def attributes(thing: object) -> Iterable[tuple[str, object]]:
        names = [f.name for f in fields(thing)] if is_dataclass(thing) else sorted(names_of(thing))
        if not names and type(thing).__module__.partition(".")[0] not in ROOMS:
            raise TypeError(f"what a {type(thing).__name__} holds is not known")
        kinds = type(thing).__mro__
        return [(n, getattr(thing, n)) for n in names if not any((kind, n) in left_out for kind in kinds)]

    return walk(thing)

"""A network to be searched: what has happened there before, and what happens at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tests.models.machines import Adapter, Machines
from tests.models.network import Change, Judge, Network

Core = TypeVar("Core")
SchemeT = TypeVar("SchemeT")


class MakesJudge(Protocol):
    """The class of a judge."""

    def __call__(self, links: Sequence[tuple[int, int]], *, stay: bool) -> Judge:
        """A judge of a network of these links, which is a tree; whether no link of it is lost."""


@dataclass(frozen=True)
class Scenario(Generic[Core, SchemeT]):
    """A network of routers with one scheme, and chains of what happens at the same time.

    Args:
        adapter: The class of what makes its routers machines, of a scheme as it is to be tried.
        judge: The class of what says what must hold.
    """

    adapter: Callable[[Callable[[], SchemeT] | None], Adapter[Core]]
    judge: MakesJudge
    about: str
    links: Sequence[tuple[int, int]]
    setup: Sequence[Change]
    chains: Sequence[Sequence[Change]]

    @property
    def changes(self) -> int:
        """How many happen at the same time."""
        return sum(map(len, self.chains))

    def model(self, make: Callable[[], SchemeT] | None = None) -> tuple[Network[Core], Machines[Core]]:
        """To be searched, with the scheme as it is or as `make` makes it."""
        machines = Machines(self.adapter(make))
        stay = all(change.what == "give" for chain in self.chains for change in chain)
        judge = self.judge(self.links, stay=stay)
        return Network(machines, self.links, self.setup, self.chains, judge), machines

"""Routers joined by links as a model: whatever order packets, losses and views come in.

Each link is a session between its two ends that carries payloads whole, once and in order, until one end
loses it; that is what the channel below promises. The ends join and lose it one after the other, in any
order. What was sent to an end that has lost it is gone; what it had sent before may still arrive. A new
session begins when both have lost the old one. A router hears of links, near or far, at any time after
they came up or went down.

What happens from outside are *changes*, in chains: those of a chain happen in its order, those of
different chains in any. All else is *under way*: it will happen, in any order.

Not here: what routers do (`machines` over an adapter), and what is right (`Judge`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from tests.models.machines import Input, Machines
from tests.models.search import Successor

Core = TypeVar("Core")
NEW, UP, GONE = "new", "up", "gone"
"""An end has not joined the session, has joined it, has lost it."""
Payload = tuple[int, int, bytes]
"""(Interface, kind, payload), as a router sends it."""


class Change(NamedTuple):
    """Something that happens from outside."""

    what: str
    """`give` a router an input; `cut` a link, `mend` it; `restart` a router."""
    target: int
    """The router, or the place of the link."""
    given: Input = ()


class State(NamedTuple):
    """All there is."""

    routers: tuple[int, ...]
    """The states of the routers."""
    lives: tuple[int, ...]
    """How often each has been started again."""
    ends: tuple[tuple[str, str], ...]
    """By link, its two ends."""
    queues: tuple[tuple[Payload, ...], ...]
    """What is under way: of link n from its first end at place 2n, from its second at 2n + 1."""
    over: tuple[bool, ...]
    """By link, whether the session has ended, which its ends notice sooner or later."""
    cut: tuple[bool, ...]
    """By link, whether no session can begin."""
    seen: tuple[tuple[bool, ...], ...]
    """By router, the links that it believes to be there."""
    done: tuple[int, ...]
    """By chain, how many of its changes have happened."""

    @property
    def machines(self) -> tuple[int, ...]:
        """The states of all that runs real code."""
        return self.routers


class Judge(Protocol):
    """What must hold."""

    def describe(self, payload: Payload) -> str:
        """A payload for people."""

    def about_step(
        self,
        given: Input,
        before: Hashable,
        after: Hashable,
        sent: Sequence[Payload],
        looks: Sequence[Hashable],
    ) -> str:
        """What is wrong with what a router did; `looks` of all, before it."""

    def about_quiet(self, looks: Sequence[Hashable], up: Sequence[bool]) -> Iterator[str]:
        """What is wrong where nothing is under way; by link, whether it is up."""


class Network(Generic[Core]):
    """The model.

    Args:
        machines: The routers' states.
        links: The two routers that each joins, by their places.
        setup: Changes that have happened, one after the other, before the search begins.
        chains: What happens while it is searched.
        judge: What must hold.
    """

    def __init__(
        self,
        machines: Machines[Core],
        links: Sequence[tuple[int, int]],
        setup: Sequence[Change],
        chains: Sequence[Sequence[Change]],
        judge: Judge,
    ) -> None:
        self._machines = machines
        self._links = links
        self._setup = setup
        self._chains = chains
        self._judge = judge
        self._count = 1 + max(end for link in links for end in link)
        self._mine = [[n for n, ends in enumerate(links) if router in ends] for router in range(self._count)]
        """By router, its links; their interfaces are in this order."""

    # The model, as `search` wants it.

    def start(self) -> State:
        """All routers know each other, and what `setup` says has happened."""
        count, links = self._count, len(self._links)
        state = State(
            routers=tuple(self._machines.new((n + 1, 0)) for n in range(count)),
            lives=(0,) * count,
            ends=((NEW, NEW),) * links,
            queues=((),) * (2 * links),
            over=(False,) * links,
            cut=(False,) * links,
            seen=((False,) * links,) * count,
            done=(0,) * len(self._chains),
        )
        state = self._calm(state)
        for change in self._setup:
            state = self._calm(self._change(state, change).state)
        return state

    def successors(self, state: State) -> Iterator[Successor[State]]:
        """All that can happen."""
        yield from self._under_way(state)
        for chain, done in enumerate(state.done):
            if done < len(self._chains[chain]):
                found = self._change(state, self._chains[chain][done])
                after = put(state.done, chain, done + 1)
                yield found._replace(state=found.state._replace(done=after))

    def quiet(self, state: State) -> bool:
        """Whether nothing is under way."""
        if any(state.queues) or any(state.over) or any(map(_due, self._looks(state))):
            return False
        up = tuple(ends == (UP, UP) for ends in state.ends)
        joined = all(is_up or cut for is_up, cut in zip(up, state.cut, strict=True))
        return joined and all(seen == up for seen in state.seen)

    def problems(self, state: State) -> Iterable[str]:
        """What the judge says, where nothing is under way."""
        if not self.quiet(state):
            return ()
        return self._judge.about_quiet(self._looks(state), [ends == (UP, UP) for ends in state.ends])

    # What happens.

    def _under_way(self, state: State) -> Iterator[Successor[State]]:
        for link in range(len(self._links)):
            for side in (0, 1):
                yield from self._at_end(state, link, side)
        for router, seen in enumerate(state.seen):
            for link, sees in enumerate(seen):
                if sees is not (state.ends[link] == (UP, UP)):
                    after = put(state.seen, router, put(seen, link, not sees))
                    what = f"r{router + 1} hears that {self._name(link)} is {'down' if sees else 'up'}"
                    yield self._look(what, state._replace(seen=after), router)
        for router, look in enumerate(self._looks(state)):
            for name in _due(look):
                yield self._give(f"r{router + 1}'s timer to {name} fires", state, router, ("timer", name))

    def _at_end(self, state: State, link: int, side: int) -> Iterator[Successor[State]]:
        here, other = state.ends[link][side], state.ends[link][1 - side]
        coming = state.queues[2 * link + 1 - side]
        if here is NEW and (coming or not (state.over[link] or state.cut[link])):
            yield self._join(state, link, side)
        if here is UP and coming:
            yield self._deliver(state, link, side)
        if state.over[link] and here is not GONE and (here is UP or other is not NEW):
            yield self._lose(state, link, side)

    def _join(self, state: State, link: int, side: int) -> Successor[State]:
        router, peer = self._links[link][side], self._links[link][1 - side]
        state = self._with_end(state, link, side, UP)
        given = ("joined", self._interface(router, link), peer + 1)
        return self._give(
            f"r{router + 1} joins {self._name(link)}", state, router, given, self._view(state, router)
        )

    def _lose(self, state: State, link: int, side: int) -> Successor[State]:
        router, was = self._links[link][side], state.ends[link][side]
        what = f"r{router + 1} loses {self._name(link)}"
        state = self._gone(state, link, side)
        if was is NEW:
            return Successor(what, state)
        given = ("lost", self._interface(router, link))
        return self._give(what, state, router, given, self._view(state, router))

    def _deliver(self, state: State, link: int, side: int) -> Successor[State]:
        router, peer = self._links[link][side], self._links[link][1 - side]
        place = 2 * link + 1 - side
        first, *others = state.queues[place]
        state = state._replace(queues=put(state.queues, place, tuple(others)))
        given = ("take", self._interface(router, link), *first[1:])
        return self._give(f"r{peer + 1} -> r{router + 1} {self._judge.describe(first)}", state, router, given)

    def _change(self, state: State, change: Change) -> Successor[State]:
        if change.what == "give":
            what = f"r{change.target + 1} {' '.join(map(str, change.given))}"
            return self._give(what, state, change.target, change.given, self._view(state, change.target))
        if change.what == "restart":
            return self._restart(state, change.target)
        link, cut = change.target, change.what == "cut"
        begun = state.ends[link] != (NEW, NEW)
        state = state._replace(
            cut=put(state.cut, link, cut), over=put(state.over, link, state.over[link] or (cut and begun))
        )
        return Successor(f"{change.what} {self._name(link)}", state)

    def _restart(self, state: State, router: int) -> Successor[State]:
        life = state.lives[router] + 1
        held = self._held(state, router)
        state = state._replace(
            lives=put(state.lives, router, life),
            routers=put(state.routers, router, self._machines.new((router + 1, life))),
            seen=put(state.seen, router, (False,) * len(self._links)),
        )
        for link, ends in enumerate(self._links):
            if router in ends and state.ends[link] != (NEW, NEW):
                state = state._replace(over=put(state.over, link, True))
                state = self._gone(state, link, ends.index(router))
        found = Successor(f"r{router + 1} restarts", state)
        for given in held:
            found = self._give(found.step, found.state, router, given, self._view(state, router))
        return found

    def _gone(self, state: State, link: int, side: int) -> State:
        """An end has lost the session: what comes is dropped; a new one can begin if the other has, too."""
        state = self._with_end(state, link, side, GONE)
        state = state._replace(queues=put(state.queues, 2 * link + 1 - side, ()))
        if state.ends[link] != (GONE, GONE):
            return state
        queues = put(put(state.queues, 2 * link, ()), 2 * link + 1, ())
        ended = put(state.over, link, False)
        return state._replace(ends=put(state.ends, link, (NEW, NEW)), over=ended, queues=queues)

    # What a router does.

    def _look(self, what: str, state: State, router: int) -> Successor[State]:
        return self._give(what, state, router, self._view(state, router))

    def _give(self, what: str, state: State, router: int, *given: Input) -> Successor[State]:
        looks, wrong = self._looks(state), ""
        for each in given:
            before = state.routers[router]
            after, sent = self._machines.step(before, each)
            assert isinstance(sent, tuple)
            look = self._machines.looks
            wrong = wrong or self._judge.about_step(each, look[before], look[after], sent, looks)
            state = self._sent(state._replace(routers=put(state.routers, router, after)), router, sent)
        return Successor(what, state, wrong)

    def _sent(self, state: State, router: int, sent: Sequence[Payload]) -> State:
        if not sent:
            return state
        queues = list(state.queues)
        for payload in sent:
            link = self._mine[router][payload[0]]
            side = self._links[link].index(router)
            assert state.ends[link][side] is UP, "sent over a link that has not joined"
            if state.ends[link][1 - side] is not GONE:
                queues[2 * link + side] += (payload,)
        return state._replace(queues=tuple(queues))

    def _view(self, state: State, router: int) -> Input:
        edges = tuple(
            (a + 1, b + 1, 1) for (a, b), sees in zip(self._links, state.seen[router], strict=True) if sees
        )
        live = tuple(
            (peer + 1, self._interface(router, link))
            for link, ends in enumerate(self._links)
            if router in ends and state.ends[link][ends.index(router)] is UP
            for peer in [ends[1 - ends.index(router)]]
        )
        return ("look", edges, live)

    def _held(self, state: State, router: int) -> list[Input]:
        """What the clients of a router hold: of each `hold` the latest."""
        chains = zip(self._chains, state.done, strict=True)
        happened = [*self._setup, *(change for chain, done in chains for change in chain[:done])]
        latest = {
            change.given[:3]: change.given
            for change in happened
            if (change.what, change.target, change.given[:1]) == ("give", router, ("hold",))
        }
        return list(latest.values())

    def _interface(self, router: int, link: int) -> int:
        return self._mine[router].index(link)

    def _with_end(self, state: State, link: int, side: int, now: str) -> State:
        return state._replace(ends=put(state.ends, link, put(state.ends[link], side, now)))

    def _looks(self, state: State) -> list[Hashable]:
        return [self._machines.looks[each] for each in state.routers]

    def _name(self, link: int) -> str:
        return " - ".join(f"r{end + 1}" for end in self._links[link])

    def _calm(self, state: State) -> State:
        """Let all that is under way happen, in one order."""
        while (following := next(self._under_way(state), None)) is not None:
            assert not following.wrong, f"{following.step}: {following.wrong}"
            state = following.state
        return state


def _due(look: Hashable) -> tuple[str, ...]:
    """What a router is to do in time, each on its own."""
    names: tuple[str, ...] = getattr(look, "due", ())
    return names


Item = TypeVar("Item")


def put(things: tuple[Item, ...], at: int, thing: Item) -> tuple[Item, ...]:
    return (*things[:at], thing, *things[at + 1 :])

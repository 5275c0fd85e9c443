"""Who or what is meant: names, groups, tags, and draws from them (`one of core`, `20% of edge`).

Here: reading a selection, and drawing from it. Not here: what then happens to
whom was drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from nodes.model import PredicateSyntaxError, Value, matches, parse_predicate
from testbed.plan.graph import Graph, Wire, one_of
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source

KINDS = ("router", "client", "node", "link", "any")
BUILT_IN = ("routers", "clients", "nodes", "links", "access")
"""Groups that every scenario has: `links` join routers, `access` joins clients to them."""

_DRAW = re.compile(r"(?P<how>one|all|[0-9]+|[0-9]+(?:\.[0-9]+)?%) +of +(?P<group>.+)")
Spec = str | Sequence[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One of the things a selection lists."""

    text: str
    members: tuple[str, ...]
    count: int | None = None
    """How many are drawn; None: all are meant."""
    named: bool = False
    """Whether it is one thing, called by its name."""


@dataclass(slots=True)
class Choice:
    """What a selection comes down to, once it is drawn; and then for good."""

    parts: tuple[Part, ...]
    kind: str
    key: Key
    rng: Random
    drawn: list[str] | None = None
    lacking: tuple[Part, int] | None = None
    """Where too few were fit: of which part, and how many were."""

    def draw(self, fit: Callable[[str], bool] = lambda _: True, fit_alone: bool = False) -> list[str]:
        """Those that are meant; draws are among those that are fit.

        Args:
            fit: Whether it can happen to somebody.
            fit_alone: Whether a group stands for those of it that are fit.
        """
        taken: dict[str, None] = {}
        for part in self.parts:
            names = self._of(part, taken, fit, fit_alone)
            taken.update(dict.fromkeys(names))
        self.drawn = list(taken)
        return self.drawn

    def _of(
        self, part: Part, taken: Mapping[str, None], fit: Callable[[str], bool], fit_alone: bool
    ) -> Sequence[str]:
        if part.count is None and (part.named or not fit_alone):
            return part.members
        fitting = [name for name in part.members if name not in taken and fit(name)]
        if len(fitting) < (part.count or 1):
            self.lacking = (part, len(fitting))
            return []
        if part.count is None:
            return fitting
        chosen = set(self.rng.sample(fitting, part.count))
        return [name for name in part.members if name in chosen]

    def anew(self) -> Choice:
        """The same selection, to be drawn once more."""
        return Choice(self.parts, self.kind, self.key, self.rng)


class Groups:
    """The groups and tags of a scenario."""

    def __init__(self, source: Source, data: Mapping[str, Any], graph: Graph) -> None:
        self._source = source
        self._graph = graph
        self._seed = int(data.get("seed", 1))
        self._specs: Mapping[str, Any] = data.get("groups") or {}
        self._known: dict[str, tuple[str, ...]] = {}
        self._open: list[str] = []

    def check(self) -> None:
        """Note what is wrong with groups, whether anybody uses them or not."""
        nodes = {**self._graph.routers, **self._graph.clients}
        for name in self._specs:
            key: Key = ("groups", name)
            if name in BUILT_IN or name in nodes:
                what = (
                    "every scenario has such a group" if name in BUILT_IN else f"a node is called {name} too"
                )
                self._source.complain(key, what, "another name", at_key=True)
            self.members(name)

    def members(self, name: str) -> tuple[str, ...] | None:
        """All in a group or with a tag, in order of the scenario; None if there is no such group."""
        if name in self._known:
            return self._known[name]
        if name in self._open:
            self._source.complain(
                ("groups", name), f"the group {name} is part of itself", "groups made of others"
            )
            return ()
        if name not in self._specs:
            return self._built_in(name) if name in BUILT_IN else self._tagged(name)
        self._open.append(name)
        found = tuple(self._read(name, self._specs[name]))
        self._open.remove(name)
        self._known[name] = found
        return found

    def choice(
        self, spec: Spec, kind: str, key: Key, rng: Random, *, programs: bool = False
    ) -> Choice | None:
        """What a selection means; None and a complaint if it means nothing.

        Args:
            spec: A text, or a list of texts.
            kind: One of `KINDS`: what is wanted.
            key: Where it stands.
            rng: What is drawn is drawn from it.
            programs: Whether a client that is a program may be named, too.
        """
        parts = []
        for text, here in self._items(spec, key):
            name = text.strip()
            if programs and name in self._graph.programs:
                parts.append(Part(name, (name,), named=True))
                continue
            part = self._part(name, kind, here)
            if part is None:
                return None
            parts.append(part)
        return Choice(tuple(parts), kind, key, rng) if parts else None

    def _items(self, spec: Spec, key: Key) -> Iterator[tuple[str, Key]]:
        if isinstance(spec, str):
            yield from ((text, key) for text in spec.split(","))
            return
        for i, item in enumerate(spec):
            if isinstance(item, str):
                yield item, (*key, i)

    def _part(self, text: str, kind: str, key: Key) -> Part | None:
        drawn = _DRAW.fullmatch(text)
        if drawn is None:
            return self._single(text, kind, key)
        members = self._of_kind(drawn["group"].strip(), kind, key)
        if members is None:
            return None
        if drawn["how"] == "all":
            return Part(text, members)
        count = _count(drawn["how"], len(members))
        if not 0 < count <= len(members):
            message = (
                f"{text}: {drawn['group'].strip()} has {len(members)}{'' if kind == 'any' else f' {kind}s'}"
            )
            self._source.complain(
                key, message, f"1 to {len(members)} of them" if members else "a group with members"
            )
            return None
        return Part(text, members, count)

    def _single(self, text: str, kind: str, key: Key) -> Part | None:
        if kind != "link" and text in self._nodes(kind):
            return Part(text, (text,), named=True)
        links = self._link(text) if kind in ("link", "any") else []
        if len(links) == 1:
            return Part(text, (links[0],), named=True)
        if self._exists(text):
            return self._group(text, kind, key)
        if kind == "link" or links:
            self._no_link(text, links, key)
        else:
            self._nobody(text, kind, key)
        return None

    def _group(self, name: str, kind: str, key: Key) -> Part | None:
        members = self._of_kind(name, kind, key)
        return None if members is None else Part(name, members)

    def _exists(self, name: str) -> bool:
        return name in self._specs or name in BUILT_IN or self._tagged(name) is not None

    def _of_kind(self, group: str, kind: str, key: Key) -> tuple[str, ...] | None:
        """The members of that kind; links between its nodes, where links are wanted of a group of nodes."""
        found = self.members(group)
        if found is None:
            self._no_group(group, key)
            return None
        held = set(found)
        if kind == "any":
            return found
        if kind == "link":
            members = tuple(name for wire, name in self._links() if name in held or {wire.a, wire.b} <= held)
        else:
            members = tuple(name for name in self._nodes(kind) if name in held)
        if not members and self._graph.routers:
            what = f"there are no {kind}s in {group}"
            self._source.complain(key, what, f"a group that has {kind}s in it")
        return members or None

    def _nodes(self, kind: str) -> dict[str, Key]:
        graph = self._graph
        both = {"router": graph.routers, "client": graph.clients}
        return both.get(kind, {**graph.routers, **graph.clients})

    def _links(self) -> list[tuple[Wire, str]]:
        return [(wire, f"{wire.a}--{wire.b}") for wire in self._graph.wires]

    def _built_in(self, name: str) -> tuple[str, ...]:
        graph = self._graph
        if name in ("links", "access"):
            joins = graph.routers if name == "links" else graph.clients
            return tuple(link for wire, link in self._links() if wire.b in joins)
        return tuple(self._nodes(name.removesuffix("s")))

    def _tagged(self, tag: str) -> tuple[str, ...] | None:
        nodes = [name for name in self._nodes("node") if tag in self._graph.tags.get(name, ())]
        links = [name for wire, name in self._links() if tag in wire.tags]
        return (*nodes, *links) or None

    def _read(self, name: str, spec: Any) -> Iterator[str]:
        key: Key = ("groups", name)
        rng = Random(f"{self._seed}/groups/{name}")
        if isinstance(spec, dict):
            yield from self._where(spec, key)
            return
        if spec is None:
            return
        for text, here in self._items(spec, key):
            part = self._part(text.strip(), "any", here)
            if part is not None:
                yield from Choice((part,), "any", here, rng).draw()

    def _where(self, spec: Mapping[str, Any], key: Key) -> Iterator[str]:
        if "of" not in spec or "where" not in spec:
            return
        here: Key = (*key, "where")
        try:
            predicate = parse_predicate(spec["where"])
        except PredicateSyntaxError as error:
            self._source.complain_text(here, error)
            return
        found = self.members(spec["of"])
        if found is None:
            self._no_group(spec["of"], (*key, "of"))
            return
        about = self._attributes()
        chosen = [name for name in found if matches(predicate, about[name])]
        if not chosen:
            known = sorted({attribute for name in found for attribute in about[name]})
            expected = f"a predicate over {', '.join(known)}"
            self._source.complain(here, f"none of {spec['of']} is so", expected)
        yield from chosen

    def _attributes(self) -> dict[str, dict[str, Value]]:
        """What can be asked of nodes and links."""
        graph = self._graph
        about: dict[str, dict[str, Value]] = {}
        for name in self._nodes("node"):
            about[name] = {**graph.attributes.get(name, {}), "name": name, "degree": 0}
            about[name].update(dict.fromkeys(graph.tags.get(name, ()), True))
        for wire, name in self._links():
            for end, other in ((wire.a, wire.b), (wire.b, wire.a)):
                degree = about[end]["degree"]
                assert isinstance(degree, int)
                about[end]["degree"] = degree + (other in graph.routers)
            about[name] = {**_link_attributes(wire), "name": name}
        for wire, _ in self._links():
            if wire.b in graph.clients:
                about[wire.b]["at"] = wire.a
        return about

    def _link(self, text: str) -> list[str]:
        """The names of the links it may mean; a dash in a node's name makes `a-b-c` more than one thing."""
        ends = [(text[: m.start()].rstrip(), text[m.end() :].lstrip()) for m in re.finditer("--?", text)]
        spaced = re.split(r" +--? +", text)
        if len(spaced) == 2:
            ends = [(spaced[0], spaced[1])]
        links = {}
        for wire, name in self._links() if ends else ():
            links[wire.a, wire.b] = links[wire.b, wire.a] = name
        return sorted({links[pair] for pair in ends if pair in links})

    def _no_link(self, text: str, names: list[str], key: Key) -> None:
        if names:
            message, expected = f"{text} may be {' or '.join(names)}", "the dash between spaces"
        else:
            message, expected = f"there is no link {text}", "a link between two routers, or to a client"
        known = [*sorted(" - ".join(name.split("--")) for _, name in self._links()), *self._names()]
        self._source.complain(key, message, expected, did_you_mean(text, known))

    def _nobody(self, text: str, kind: str, key: Key) -> None:
        graph = self._graph
        if kind == "router" and text in graph.clients:
            hint = f"a client can leave and return, pause and resume: leave: {text}"
            self._source.complain(key, f"{text} is a client", one_of(graph.routers), hint)
        elif graph.routers:
            nodes = self._nodes(kind)
            hint = did_you_mean(text, [*nodes, *self._names()])
            what = "node, link or group" if kind == "any" else kind
            expected = "one of, 3 of, 20% of, or all of a group" if " of " in text else one_of(nodes)
            self._source.complain(key, f"there is no {what} {text}", expected, hint)

    def _no_group(self, name: str, key: Key) -> None:
        names = self._names()
        if self._graph.routers:
            message = f"there is no group and no tag {name}"
            self._source.complain(key, message, f"one of {', '.join(names)}", did_you_mean(name, names))

    def _names(self) -> list[str]:
        tags = {tag for tags in self._graph.tags.values() for tag in tags}
        tags |= {tag for wire in self._graph.wires for tag in wire.tags}
        return sorted({*self._specs, *tags, *BUILT_IN})


def _count(how: str, size: int) -> int:
    if how.endswith("%"):
        return max(1, int(size * Fraction(how.rstrip("%")) / 100)) if size else 0
    return 1 if how == "one" else int(how)


def _link_attributes(wire: Wire) -> dict[str, Value]:
    about: dict[str, Value] = {"a": wire.a, "b": wire.b, "cost": wire.cost, "mtu": wire.mtu}
    if wire.impairment.delay_ns is not None:
        about["delay_ms"] = wire.impairment.delay_ns / 1e6
    about.update(dict.fromkeys(wire.tags, True))
    return about

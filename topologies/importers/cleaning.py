"""From the content of a file to a map that a network can be made of.

The rules are the same for all formats: a link from a node to itself is left out;
parallel links are merged into one with the best of each property; both are noted.
A map that is not connected is refused, unless its largest piece is asked for. At most
`ROUTERS_MAX` routers.

Routers get short names made from their labels: readable, unique, and fit for an
interface. Interfaces are called <router>-eth<number> and Linux gives them 15
characters, so a router with many links gets a shorter name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.errors import MapError
from topologies.importers.raw import Raw, RawLink, RawNode
from topologies.map import Map, MapLink, MapNode, pieces, reached, sorted_tags, with_delays
from topologies.quantities import how_many

ROUTERS_MAX = 2_000
LINKS_MAX = 200_000


@dataclass(frozen=True, slots=True)
class MapOptions:
    """Which part of a file is used."""

    largest: bool = False
    """Of a map that is not connected, only the largest piece."""
    keep: int | None = None
    """This many routers, those nearest to the one with the most links."""
    drop: tuple[str, ...] = ()
    """Nodes with one of these tags are left out: `external`, `hyperedge`, ..."""


def cleaned(raw: Raw, stem: str, path: str, options: MapOptions) -> Map:
    """The map.

    Raises:
        MapError: What is left is none.
    """
    notes = list(dict.fromkeys(raw.notes))
    nodes = _wanted(raw, options, notes)
    links = _merged([link for link in raw.links if link.a in nodes and link.b in nodes], notes)
    nodes, links = _in_one_piece(nodes, links, path, options, notes)
    nodes, links = _kept(nodes, links, options, notes)
    _check_size(nodes, links, path)
    return with_delays(_as_map(raw, stem, nodes, links, notes))


def _wanted(raw: Raw, options: MapOptions, notes: list[str]) -> dict[str, RawNode]:
    if not raw.nodes:
        raise MapError("the map has no nodes", raw.path, expected="at least one node")
    known = {tag for node in raw.nodes.values() for tag in node.tags}
    for tag in options.drop:
        if tag not in known:
            expected = f"one of {', '.join(sorted(known))}" if known else "no tag: the map's nodes have none"
            raise MapError(f"no node has the tag {tag}, which is to be dropped", raw.path, expected=expected)
    nodes = {key: node for key, node in raw.nodes.items() if not {*node.tags} & {*options.drop}}
    if not nodes:
        raise MapError(f"nothing is left without {', '.join(options.drop)}", raw.path, expected="a node")
    if gone := len(raw.nodes) - len(nodes):
        notes.append(f"{how_many(gone, 'node')} left out: {', '.join(options.drop)}")
    return nodes


def _merged(links: Sequence[RawLink], notes: list[str]) -> list[RawLink]:
    found: dict[tuple[str, ...], RawLink] = {}
    loops = parallel = 0
    for link in links:
        ends = tuple(sorted((link.a, link.b)))
        if link.a == link.b:
            loops += 1
        elif ends in found:
            parallel += 1
            found[ends] = _best(found[ends], link)
        else:
            found[ends] = link
    if loops:
        notes.append(f"{how_many(loops, 'link')} from a node to itself left out")
    if parallel:
        notes.append(
            f"{how_many(parallel, 'parallel link')} merged into others, with the best of each property"
        )
    return list(found.values())


def _best(first: RawLink, second: RawLink) -> RawLink:
    delays = [d for d in (first.delay_ns, second.delay_ns) if d is not None]
    rates = [r for r in (first.rate_bps, second.rate_bps) if r is not None]
    return RawLink(
        first.a,
        first.b,
        first.line,
        delay_ns=min(delays, default=None),
        rate_bps=max(rates, default=None),
        loss=min(first.loss, second.loss),
        cost=min(first.cost, second.cost),
        tags=sorted_tags(first.tags + second.tags),
    )


Part = tuple[dict[str, RawNode], list[RawLink]]


def _in_one_piece(
    nodes: dict[str, RawNode], links: list[RawLink], path: str, options: MapOptions, notes: list[str]
) -> Part:
    largest, *others = pieces(_neighbours(nodes, links))
    if not others:
        return nodes, links
    if not options.largest:
        raise MapError(
            f"the map is in {len(others) + 1} pieces: of {how_many(len(largest), 'node')} the largest, and "
            f"no path leads from there to {nodes[others[0][0]].label or others[0][0]}",
            path,
            nodes[others[0][0]].line,
            expected="a network in one piece",
            hint="take the largest piece (`--largest`, in a scenario `largest: true`), or add links",
        )
    notes.append(f"{how_many(len(nodes) - len(largest), 'node')} outside of the largest piece left out")
    return _part(largest, nodes, links)


def _kept(nodes: dict[str, RawNode], links: list[RawLink], options: MapOptions, notes: list[str]) -> Part:
    if options.keep is None or options.keep >= len(nodes):
        return nodes, links
    near = _neighbours(nodes, links)
    hub = max(near, key=lambda key: len(near[key]))
    notes.append(f"{options.keep} of {len(nodes)} routers kept, those nearest to {nodes[hub].label or hub}")
    return _part(reached(near, hub)[: options.keep], nodes, links)


def _part(kept: Sequence[str], nodes: Mapping[str, RawNode], links: Sequence[RawLink]) -> Part:
    inside = set(kept)
    return (
        {key: node for key, node in nodes.items() if key in inside},
        [link for link in links if link.a in inside and link.b in inside],
    )


def _neighbours(nodes: Mapping[str, RawNode], links: Sequence[RawLink]) -> dict[str, list[str]]:
    near: dict[str, list[str]] = {key: [] for key in nodes}
    for link in links:
        near[link.a].append(link.b)
        near[link.b].append(link.a)
    return near


def _check_size(nodes: Mapping[str, RawNode], links: Sequence[RawLink], path: str) -> None:
    if len(nodes) > ROUTERS_MAX or len(links) > LINKS_MAX:
        raise MapError(
            f"the map has {len(nodes):,} nodes and {len(links):,} links",
            path,
            expected=f"at most {ROUTERS_MAX:,} nodes and {LINKS_MAX:,} links",
            hint="keep a part that hangs together (`--keep 500`, in a scenario `keep: 500`), or generate a "
            "graph of that kind and of any size (`cbn topo generate power-law size=5000`)",
        )


def _as_map(
    raw: Raw, stem: str, nodes: Mapping[str, RawNode], links: Sequence[RawLink], notes: list[str]
) -> Map:
    degrees = {key: len(near) for key, near in _neighbours(nodes, links).items()}
    labels = {key: key if raw.named else node.label or key for key, node in nodes.items()}
    names = names_of(labels, degrees)
    placed = sum(node.place is not None for node in nodes.values())
    if 0 < placed < len(nodes):
        notes.append(
            f"{how_many(len(nodes) - placed, 'node')} without coordinates: no delay follows from distance"
        )
    return Map(
        raw.name or stem,
        tuple(_node(node, names[key]) for key, node in nodes.items()),
        tuple(_link(link, names) for link in links),
        title=raw.title,
        sources=tuple(raw.sources),
        notes=tuple(notes),
    )


def _node(node: RawNode, name: str) -> MapNode:
    label = node.label or node.key
    return MapNode(name, label if label != name else "", node.place, node.at, node.tags)


def _link(link: RawLink, names: Mapping[str, str]) -> MapLink:
    return MapLink(
        names[link.a], names[link.b], link.delay_ns, link.rate_bps, link.loss, link.cost, link.tags
    )


NAME = re.compile(r"[a-z][a-z0-9-]{0,8}")
_SPECIAL = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th"})


def names_of(labels: Mapping[str, str], degrees: Mapping[str, int]) -> dict[str, str]:
    """A name for each key, made of its label, or of the key if it has none.

    A label that is a valid name is kept.
    """
    longest = {key: room(degrees.get(key, 0)) for key in labels}
    fitting = {key: label for key, label in labels.items() if _fits(label, longest[key])}
    taken: dict[str, str] = {}
    for key, label in fitting.items():
        taken.setdefault(label, key)
    chosen = {key: label for label, key in taken.items()}
    for key, label in labels.items():
        if key not in chosen:
            name = next(n for n in _candidates(label or key, longest[key]) if n not in taken)
            taken[name], chosen[key] = key, name
    return {key: chosen[key] for key in labels}


def room(degree: int) -> int:
    """How long a router's name may be; leaves room for clients beside its links."""
    # 15 characters, of which "-eth" takes 4 and the number its digits.
    return 11 - max(2, len(str(degree + 50)))


def _fits(label: str, longest: int) -> bool:
    return bool(NAME.fullmatch(label)) and len(label) <= longest


def _candidates(label: str, longest: int) -> Iterator[str]:
    words = _words(label)
    whole = "".join(words)
    if len(whole) <= longest:
        yield whole
    # "Frankfurt" is enough for "Frankfurt am Main", "los" too little for "Los Angeles".
    if len(words[0]) >= 4:
        yield words[0][:longest]
    yield whole[:longest]
    yield words[0][:longest]
    if len(words) > 1:
        yield (words[0][: longest - 1] + words[1][0])[:longest]
    number = 2
    while True:
        yield f"{words[0][: longest - len(str(number))]}{number}"
        number += 1


def _words(label: str) -> list[str]:
    bare = (
        unicodedata.normalize("NFKD", label.casefold().translate(_SPECIAL)).encode("ascii", "ignore").decode()
    )
    words = re.findall(r"[a-z0-9]+", bare)
    if not words:
        return ["n"]
    return words if words[0][0].isalpha() else [f"n{words[0]}", *words[1:]]

"""From what a file says to a map that a network can be made of.

The rules, the same for all formats: a link from a node to itself is left out;
parallel links are merged into one with the best of each property; both are noted.
What is in pieces is refused, unless the largest piece is asked for. At most
`ROUTERS_MAX` routers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topologies.errors import MapError
from topologies.importers.naming import names_of
from topologies.importers.raw import Raw, RawLink, RawNode
from topologies.map import Map, MapLink, MapNode, pieces, reached, sorted_tags, with_delays

ROUTERS_MAX = 2_000
LINKS_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Wishes:
    """What of a file is wanted."""

    largest: bool = False
    """Of a map in pieces, only the largest."""
    keep: int | None = None
    """So many routers that hang together, around the one with the most links."""
    drop: tuple[str, ...] = ()
    """Nodes with one of these tags are left out: `external`, `hyperedge`, ..."""


def cleaned(raw: Raw, stem: str, path: str, wishes: Wishes) -> Map:
    """The map.

    Raises:
        MapError: What is left is none.
    """
    notes = list(dict.fromkeys(raw.notes))
    nodes = _wanted(raw, wishes, notes)
    links = _merged([link for link in raw.links if link.a in nodes and link.b in nodes], notes)
    nodes, links = _in_one_piece(nodes, links, path, wishes, notes)
    nodes, links = _kept(nodes, links, wishes, notes)
    _check_size(nodes, links, path)
    return with_delays(_as_map(raw, stem, nodes, links, notes))


def _wanted(raw: Raw, wishes: Wishes, notes: list[str]) -> dict[str, RawNode]:
    if not raw.nodes:
        raise MapError("the map has no nodes", raw.path, expected="at least one node")
    known = {tag for node in raw.nodes.values() for tag in node.tags}
    for tag in wishes.drop:
        if tag not in known:
            expected = f"one of {', '.join(sorted(known))}" if known else "no tag: the map's nodes have none"
            raise MapError(f"no node has the tag {tag}, which is to be dropped", raw.path, expected=expected)
    nodes = {key: node for key, node in raw.nodes.items() if not {*node.tags} & {*wishes.drop}}
    if not nodes:
        raise MapError(f"nothing is left without {', '.join(wishes.drop)}", raw.path, expected="a node")
    if gone := len(raw.nodes) - len(nodes):
        notes.append(f"{_count(gone, 'node')} left out: {', '.join(wishes.drop)}")
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
        notes.append(f"{_count(loops, 'link')} from a node to itself left out")
    if parallel:
        notes.append(
            f"{_count(parallel, 'parallel link')} merged into others, with the best of each property"
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
    nodes: dict[str, RawNode], links: list[RawLink], path: str, wishes: Wishes, notes: list[str]
) -> Part:
    largest, *others = pieces(_neighbours(nodes, links))
    if not others:
        return nodes, links
    if not wishes.largest:
        raise MapError(
            f"the map is in {len(others) + 1} pieces: of {_count(len(largest), 'node')} the largest, and no "
            f"path leads from there to {nodes[others[0][0]].label or others[0][0]}",
            path,
            nodes[others[0][0]].line,
            expected="a network in one piece",
            hint="take the largest piece (`--largest`, in a scenario `largest: true`), or add links",
        )
    notes.append(f"{_count(len(nodes) - len(largest), 'node')} outside of the largest piece left out")
    return _part(largest, nodes, links)


def _kept(nodes: dict[str, RawNode], links: list[RawLink], wishes: Wishes, notes: list[str]) -> Part:
    if wishes.keep is None or wishes.keep >= len(nodes):
        return nodes, links
    near = _neighbours(nodes, links)
    hub = max(near, key=lambda key: len(near[key]))
    notes.append(f"{wishes.keep} of {len(nodes)} routers kept, those nearest to {nodes[hub].label or hub}")
    return _part(reached(near, hub)[: wishes.keep], nodes, links)


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
            f"{_count(len(nodes) - placed, 'node')} without coordinates: no delay follows from distance"
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


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"

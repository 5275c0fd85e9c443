"""GML, as the Topology Zoo, yEd and networkx write it: nested lists of keys and values."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from topologies.errors import MapError
from topologies.importers.attributes import link_of, node_of
from topologies.importers.raw import Raw, plain_label, shown

_TOKEN = re.compile(
    r'(?P<space>\s+|\#[^\n]*)|(?P<text>"[^"]*")|(?P<open>\[)|(?P<close>\])|(?P<word>[^\s\[\]"]+)'
)
DEPTH_MAX = 16


@dataclass(slots=True)
class _List:
    """A list: its line, its scalars by key (the last one counts), its lists in order."""

    line: int
    scalars: dict[str, str] = field(default_factory=dict)
    lists: list[tuple[str, _List]] = field(default_factory=list)


def read(text: str, path: str) -> Raw:
    """The content of a GML file.

    Raises:
        MapError: It is none, or makes no sense.
    """
    raw = Raw(path)
    graphs = [inner for key, inner in _parsed(text, path).lists if key == "graph"]
    if not graphs:
        raise MapError("there is no graph in this file", path, 1, expected="GML: graph [ node [ ... ] ]")
    graph = graphs[0]
    if len(graphs) > 1:
        raw.notes.append(f"the first of {len(graphs)} graphs is taken")
    raw.title = plain_label(html.unescape(graph.scalars.get("label") or graph.scalars.get("Network", "")))
    raw.sources += [plain_label(html.unescape(graph.scalars["Source"]))] if "Source" in graph.scalars else []
    for kind, inner in graph.lists:
        if kind == "node":
            _add_node(raw, inner)
        elif kind == "edge":
            a, b = _needed(raw, "edge", inner, "source"), _needed(raw, "edge", inner, "target")
            raw.links.append(link_of(raw, a, b, inner.line, inner.scalars))
    raw.check_ends()
    return raw


def _add_node(raw: Raw, node: _List) -> None:
    # yEd has the label in the node and the place in a list within it.
    attributes: dict[str, str] = {}
    for kind, inner in node.lists:
        if kind == "graphics":
            attributes |= {name: inner.scalars[name] for name in ("x", "y") if name in inner.scalars}
    attributes |= node.scalars
    attributes["label"] = html.unescape(attributes.get("label", ""))
    raw.add_node(node_of(raw, _needed(raw, "node", node, "id"), node.line, attributes))


def _needed(raw: Raw, kind: str, inner: _List, name: str) -> str:
    if name not in inner.scalars:
        raise MapError(f"the {kind} has no {name}", raw.path, inner.line, expected=f"{kind} [ {name} ... ]")
    return inner.scalars[name]


def _parsed(text: str, path: str) -> _List:
    top = _List(1)
    stack, key, line, position = [top], "", 1, 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise MapError("a text without its closing quote", path, line, expected='"..."')
        kind, token = found.lastgroup, found[0]
        if kind == "close":
            _close(stack, key, path, line)
        elif kind == "open":
            stack.append(_opened(stack, key, path, line))
            key = ""
        elif kind == "text" or (kind == "word" and key):
            key = _scalar(stack[-1], key, token.strip('"'), path, line)
        elif kind == "word":
            key = token
        line += token.count("\n")
        position = found.end()
    if len(stack) > 1 or key:
        raise MapError(
            "the file ends in the middle of a list", path, stack[-1].line, expected="a ] for each ["
        )
    return top


def _opened(stack: list[_List], key: str, path: str, line: int) -> _List:
    if not key:
        raise MapError("a [ without a key before it", path, line, expected="node [ ... ]")
    if len(stack) > DEPTH_MAX:
        raise MapError("lists within lists within lists", path, line, expected=f"at most {DEPTH_MAX} levels")
    inner = _List(line)
    stack[-1].lists.append((key, inner))
    return inner


def _close(stack: list[_List], key: str, path: str, line: int) -> None:
    if key:
        raise MapError(f"the key {shown(key)} has no value", path, line, expected=f"{key[:20]} and a value")
    if len(stack) == 1:
        raise MapError("a ] without its [", path, line, expected="as many [ as ]")
    stack.pop()


def _scalar(inner: _List, key: str, value: str, path: str, line: int) -> str:
    if not key:
        raise MapError(f"{shown(value)} has no key", path, line, expected="keys and values in turn")
    inner.scalars[key] = value
    return ""

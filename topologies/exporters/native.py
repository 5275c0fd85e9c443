"""A map in the project's own format, which leaves nothing out."""

from __future__ import annotations

import re

from topologies import quantities as q
from topologies.map import Map, MapLink, MapNode

_BARE = re.compile(r"[A-Za-z0-9._,+/-]+")


def text_of(drawn: Map) -> str:
    """The map's lines; `importers.native` reads back the same."""
    head = [("map", drawn.name), ("title", drawn.title)]
    head += [("source", text) for text in drawn.sources] + [("note", text) for text in drawn.notes]
    lines = [f"{word} {_quoted(text)}" for word, text in head if text]
    lines += [_node(node) for node in drawn.nodes]
    lines += [_link(link) for link in drawn.links]
    return "\n".join(lines) + "\n"


def _node(node: MapNode) -> str:
    words = ["node", node.name]
    words += [] if node.place is None else [repr(float(node.place[0])), repr(float(node.place[1]))]
    words += [f"label={_quoted(node.label)}"] * bool(node.label)
    words += [] if node.at is None else [f"at={float(node.at[0])!r},{float(node.at[1])!r}"]
    words += [f"tags={','.join(node.tags)}"] * bool(node.tags)
    return " ".join(words)


def _link(link: MapLink) -> str:
    return " ".join(["link", link.a, link.b, *told_of(link)])


def told_of(link: MapLink) -> list[str]:
    """What is known of a link, as `key=value`."""
    words = [] if link.delay_ns is None else [f"delay={q.delay_text(link.delay_ns)}"]
    words += [] if link.rate_bps is None else [f"rate={q.rate_text(link.rate_bps)}"]
    words += [f"loss={link.loss!r}"] * bool(link.loss)
    words += [f"cost={link.cost}"] * (link.cost != 1)
    words += [f"tags={','.join(link.tags)}"] * bool(link.tags)
    return words


def _quoted(text: str) -> str:
    if _BARE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

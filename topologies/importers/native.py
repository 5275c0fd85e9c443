"""The project's own maps: one fact per line, everything that a `Map` contains.

    map abilene
    title "Abilene, 2004"
    source "Where the facts are from"
    node sttl 47.61 -122.33 label=Seattle tags=core,west
    node hub at=10,20
    link sttl dnvr delay=12ms rate=10gbit cost=3 tags=backbone

Words in double quotes may hold spaces. `#` begins a comment.
"""

from __future__ import annotations

import re
import shlex

from topologies.errors import MapError
from topologies.importers.attributes import place_of, point_of, tags_of
from topologies.importers.edge_list import set_property
from topologies.importers.raw import Raw, RawLink, RawNode, plain_label, shown

NAME = re.compile(r"[a-z][a-z0-9-]{0,8}")
NAME_FORM = "a lower-case letter, then at most 8 lower-case letters, digits and dashes"
_WORDS = "one of map, title, source, note, node, link"


def read(text: str, path: str) -> Raw:
    """The content of a map.

    Raises:
        MapError: A line makes no sense.
    """
    raw = Raw(path, named=True)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise MapError(f"a text that does not end: {error}", path, number, expected='"..."') from None
        if words:
            _line(raw, words[0], words[1:], number)
    raw.check_ends()
    return raw


def _line(raw: Raw, word: str, rest: list[str], line: int) -> None:
    if word == "node":
        raw.add_node(_node(raw.path, rest, line))
    elif word == "link":
        raw.links.append(_link(raw.path, rest, line))
    elif word in ("map", "title", "source", "note"):
        text = plain_text(rest)
        if word in ("map", "title"):
            setattr(raw, "name" if word == "map" else "title", text)
        else:
            (raw.sources if word == "source" else raw.notes).append(text)
    else:
        raise MapError(f"unknown word {shown(word)}", raw.path, line, expected=_WORDS)


def plain_text(words: list[str]) -> str:
    """The rest of a line, as one text."""
    return " ".join(" ".join(words).split())[:1000]


def _node(path: str, words: list[str], line: int) -> RawNode:
    if not words or not NAME.fullmatch(words[0]):
        raise MapError(f"{shown(words[0] if words else '')} is no name", path, line, expected=NAME_FORM)
    node = RawNode(words[0], line)
    bare = [word for word in words[1:] if "=" not in word]
    if len(bare) not in (0, 2):
        raise MapError("a place is two numbers", path, line, expected="node NAME LATITUDE LONGITUDE")
    if bare:
        node.place = place_of(bare[0], bare[1], path, line)
    for key, _, value in (word.partition("=") for word in words[1:] if "=" in word):
        if key == "label":
            node.label = plain_label(value)
        elif key == "tags":
            node.tags = tags_of(value, path, line)
        elif key == "at" and value.count(",") == 1:
            x, _, y = value.partition(",")
            node.at = point_of(x, y, path, line)
        else:
            expected = 'label="...", tags=core,west or at=X,Y'
            raise MapError(f"unknown: {shown(f'{key}={value}')}", path, line, expected=expected)
    return node


def _link(path: str, words: list[str], line: int) -> RawLink:
    if len(words) < 2:
        raise MapError("a link has two ends", path, line, expected="link A B delay=5ms")
    link = RawLink(words[0], words[1], line)
    for word in words[2:]:
        key, _, value = word.partition("=")
        set_property(link, key, value, path)
    return link

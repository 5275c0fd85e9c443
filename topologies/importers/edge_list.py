"""Edge lists: one link per line, two names and the properties of the link.

    # a comment
    seattle denver 12ms
    denver, chicago, 3
    a b delay=5ms rate=10mbit loss=0.01 cost=2 tags=core

Columns are parted by spaces, tabs, commas or semicolons. After the names: a delay
or a rate (with their units), a cost (a whole number), or `key=value`. A first line
that names its columns (`source,target,delay`) defines them instead.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping

from topologies import quantities as q
from topologies.errors import MapError
from topologies.importers.attributes import tags_of, value_of
from topologies.importers.raw import Raw, RawLink, RawNode, plain_label, shown

_ENDS = {"source": "a", "from": "a", "a": "a", "node1": "a", "src": "a", "u": "a",
         "target": "b", "to": "b", "b": "b", "node2": "b", "dst": "b", "v": "b"}  # fmt: skip
_HEADINGS = {"source", "from", "node1", "src", "u"}
"""With these a first line names its columns; `a b` may well be two nodes."""
_SAME = {"weight": "cost", "bandwidth": "rate", "capacity": "rate", "latency": "delay"}
KEYS = ("delay", "rate", "loss", "cost", "tags")
_EXPECTED = "two names, then delay=5ms, rate=10mbit, loss=0.01, cost=3 or tags=core, each if known"


def read(text: str, path: str) -> Raw:
    """The content of an edge list.

    Raises:
        MapError: A line makes no sense.
    """
    raw, columns = Raw(path), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        words = _columns(line, path, number)
        if not words:
            continue
        if not raw.links and not columns and words[0].lower() in _HEADINGS:
            columns = _headings(words, path, number)
            continue
        link = _by_heading(columns, words, path, number) if columns else _link(words, path, number)
        for end in (link.a, link.b):
            raw.nodes.setdefault(end, RawNode(end, number, label=plain_label(end)))
        raw.links.append(link)
    return raw


def _columns(line: str, path: str, number: int) -> list[str]:
    bare = line.strip()
    if not bare or bare.startswith(("#", "%", "//")):
        return []
    # A comma after a key's sign is one between tags.
    parted = next((sign for sign in ",;\t" if sign in bare.partition("=")[0]), "")
    if not parted:
        return [word for word in bare.partition(" #")[0].split() if word != "{}"]
    try:
        return [word.strip() for word in next(csv.reader([bare], delimiter=parted, strict=True))]
    except csv.Error as error:
        raise MapError(f"this line cannot be parted: {error}", path, number, expected=_EXPECTED) from None


def _headings(words: list[str], path: str, line: int) -> list[str]:
    names = [_ENDS.get(w.lower(), _SAME.get(w.lower(), w.lower())) for w in words]
    if names.count("a") != 1 or names.count("b") != 1:
        expected = "columns called source and target"
        raise MapError("these headings do not say where a link's ends are", path, line, expected=expected)
    return names


def _by_heading(columns: list[str], words: list[str], path: str, line: int) -> RawLink:
    if len(words) != len(columns):
        found = f"{len(words)} columns under {len(columns)} headings"
        raise MapError(found, path, line, expected=f"{len(columns)} columns")
    attributes = dict(zip(columns, words, strict=True))
    link = RawLink(_name(attributes["a"], path, line), _name(attributes["b"], path, line), line)
    for key in KEYS:
        if attributes.get(key):
            set_property(link, key, attributes[key], path)
    return link


def _link(words: list[str], path: str, line: int) -> RawLink:
    if len(words) < 2:
        raise MapError(f"there is one name, {shown(words[0])}", path, line, expected=_EXPECTED)
    link = RawLink(_name(words[0], path, line), _name(words[1], path, line), line)
    for word in words[2:]:
        if word:
            set_property(link, *_keyed(word), path)
    return link


def _name(text: str, path: str, line: int) -> str:
    if not text or len(text) > 200:
        raise MapError(f"{shown(text)} is no name", path, line, expected="1 to 200 characters")
    return text


def _keyed(word: str) -> tuple[str, str]:
    """The key of a bare value, by its form."""
    key, sign, value = word.partition("=")
    if sign:
        return _SAME.get(key, key), value
    if re.search(r"bit$", word):
        return "rate", word
    return ("delay" if re.search(r"[a-z]$", word) else "cost"), word


def set_property(link: RawLink, key: str, text: str, path: str) -> None:
    """Put `key=text` to a link.

    Raises:
        MapError: There is no such key, or the text makes no sense.
    """
    if key == "tags":
        link.tags = tags_of(text, path, link.line)
    elif key in _PROPERTIES:
        field, read, expected = _PROPERTIES[key]
        setattr(link, field, value_of(key, text, read, expected, (path, link.line)))
    else:
        raise MapError(f"unknown key {shown(key)}", path, link.line, expected=_EXPECTED)


_PROPERTIES: Mapping[str, tuple[str, Callable[[str], float], str]] = {
    "delay": ("delay_ns", q.delay_ns, q.DELAY_FORM),
    "rate": ("rate_bps", q.link_rate_bps, q.RATE_FORM),
    "loss": ("loss", q.loss_share, q.LOSS_FORM),
    "cost": ("cost", lambda text: q.cost_number(text.removesuffix(".0")), q.COST_FORM),
}

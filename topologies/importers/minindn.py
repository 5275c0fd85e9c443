"""mini-NDN's `.conf`: `[nodes]`, `[switches]` and `[links]` with their parameters.

    [nodes]
    a: _ radius=0.5 angle=1.57
    [links]
    a:b delay=10ms bw=100 loss=2

`bw` is in Mbit/s, `loss` in percent. `radius` and `angle` (in radians) place a
node in a drawing. A switch becomes a router with the tag `switch`. What concerns
NDN's own programs is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from topologies import quantities as q
from topologies.errors import MapError
from topologies.importers.attributes import point_of, value_of
from topologies.importers.raw import Raw, RawLink, RawNode, plain_label, shown
from topologies.map import Point

SECTIONS = ("nodes", "switches", "links", "faces")


def read(text: str, path: str) -> Raw:
    """The content of a mini-NDN file.

    Raises:
        MapError: It makes no sense.
    """
    raw, section = Raw(path), ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith(("#", ";")):
            continue
        if words[0].startswith("["):
            section = _section(line.strip(), path, number)
        elif not section:
            raise MapError("this line is in no section", path, number, expected="a line [nodes] first")
        elif section == "links":
            raw.links.append(_link(raw, words, number))
        elif section != "faces":
            raw.add_node(_node(raw, words, number, section))
    raw.check_ends()
    return raw


def _section(text: str, path: str, line: int) -> str:
    name = text[1:].partition("]")[0].strip()
    if name not in SECTIONS or not text.endswith("]"):
        expected = "one of " + ", ".join(f"[{known}]" for known in SECTIONS)
        raise MapError(f"unknown section {shown(text)}", path, line, expected=expected)
    return name


def _node(raw: Raw, words: list[str], line: int, section: str) -> RawNode:
    name, properties = words[0].rstrip(":"), _properties(words[1:])
    if not name:
        raise MapError("the node has no name", raw.path, line, expected="a: _")
    tags = ("switch",) if section == "switches" else ()
    return RawNode(name, line, label=plain_label(name), at=_polar(properties, raw.path, line), tags=tags)


def _properties(words: list[str]) -> dict[str, str]:
    return {key: value for key, sign, value in (word.partition("=") for word in words) if sign}


def _polar(properties: dict[str, str], path: str, line: int) -> Point | None:
    if "radius" not in properties or "angle" not in properties:
        return None
    numbers = point_of(_decimal(properties["radius"]), _decimal(properties["angle"]), path, line)
    if numbers is None:
        return None
    radius, angle = numbers
    return radius * math.cos(angle), radius * math.sin(angle)


def _decimal(text: str) -> str:
    """With a point too, a comma parts several angles: the first is taken. Else it is some locale's point."""
    return text.partition(",")[0] if "." in text else text.replace(",", ".")


def _link(raw: Raw, words: list[str], line: int) -> RawLink:
    ends = words[0].split(":")
    if len(ends) != 2 or not all(ends):
        expected = "two nodes with a colon between: a:b delay=10ms"
        raise MapError(f"{shown(words[0])} is no link", raw.path, line, expected=expected)
    properties = _properties(words[1:])
    link = RawLink(ends[0], ends[1], line)
    for name, text in properties.items():
        _set(raw, link, name, text)
    return link


def _set(raw: Raw, link: RawLink, name: str, text: str) -> None:
    if name in _PROPERTIES:
        field, read, expected = _PROPERTIES[name]
        setattr(link, field, value_of(name, text, read, expected, (raw.path, link.line)))
    elif re.fullmatch(r"[a-z_]+", name):
        raw.notes.append(f"{name} of links is not taken")


_PROPERTIES: Mapping[str, tuple[str, Callable[[str], float], str]] = {
    "delay": ("delay_ns", q.delay_ns, q.DELAY_FORM),
    "bw": ("rate_bps", lambda text: q.rate_in_limits(float(text) * 1e6), "Mbit/s as a number: bw=100"),
    "loss": ("loss", lambda text: q.loss_share(f"{float(text) / 100!r}"), "percent from 0 to 100: loss=2"),
}

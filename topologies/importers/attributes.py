"""The attributes of nodes and links in GraphML and GML.

Those of the Topology Zoo (`Latitude`, `Internal`, `hyperedge`, `LinkSpeedRaw`, ...),
those that this project writes (`delay`, `rate`, `tags`, ...), and `weight`. Names
are compared without case. What has no unit and needs one is not taken, and a note
says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from topologies import quantities as q
from topologies.errors import MapError
from topologies.importers.raw import Raw, RawLink, RawNode, plain_label, shown
from topologies.map import Point, sorted_tags

Given = Mapping[str, str]
T = TypeVar("T")
_UNITS = {"": 1, "bps": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_TAG = re.compile(r"[a-z][a-z0-9_-]{0,31}")
TAG_FORM = "tags of lower-case letters, digits, - and _, at most 32 long, with commas between"


def node_of(raw: Raw, key: str, line: int, given: Given) -> RawNode:
    """A node with its attributes.

    Raises:
        MapError: An attribute makes no sense.
    """
    attributes = {name.lower(): value for name, value in given.items()}
    tags = tags_of(attributes.get("tags", ""), raw.path, line)
    tags += ("external",) * (attributes.get("internal") == "0")
    tags += ("hyperedge",) * (attributes.get("hyperedge") == "1")
    return RawNode(
        key,
        line,
        label=_label(attributes.get("label", "")),
        place=place_of(attributes.get("latitude"), attributes.get("longitude"), raw.path, line),
        at=point_of(attributes.get("x"), attributes.get("y"), raw.path, line),
        tags=sorted_tags(tags),
    )


def _label(text: str) -> str:
    # What has no name in the Topology Zoo is called None.
    return "" if text == "None" else plain_label(text)


def link_of(raw: Raw, a: str, b: str, line: int, given: Given) -> RawLink:
    """A link with its attributes.

    Raises:
        MapError: An attribute makes no sense.
    """
    attributes = {name.lower(): value.strip() for name, value in given.items()}
    link = RawLink(a, b, line, tags=tags_of(attributes.get("tags", ""), raw.path, line))
    for name in ("delay", "rate"):
        if _is_number(attributes.get(name, "")):
            raw.notes.append(f"{name}s without a unit are ignored: their unit is unknown")
            del attributes[name]

    def take(name: str, read: Callable[[str], T], expected: str) -> T | None:
        text = attributes.get(name, "")
        return value_of(name, text, read, expected, (raw.path, line)) if text else None

    link.delay_ns = take("delay", q.delay_ns, q.DELAY_FORM)
    link.rate_bps = take("rate", q.link_rate_bps, q.RATE_FORM)
    link.loss = take("loss", q.loss_share, q.LOSS_FORM) or 0.0
    link.cost = take("cost", q.cost_number, q.COST_FORM) or _weight(raw, attributes)
    if link.rate_bps is None:
        # LinkSpeedRaw is in bits per second; otherwise LinkSpeed and LinkSpeedUnits (K, M, G).
        link.rate_bps = take("linkspeedraw", lambda t: q.rate_in_limits(float(t)), "bits a second")
    unit = _UNITS.get(attributes.get("linkspeedunits", "none").lower())
    if link.rate_bps is None and unit is not None and _is_number(attributes.get("linkspeed", "")):
        link.rate_bps = take("linkspeed", lambda t: q.rate_in_limits(float(t) * unit), "a number")
    return link


def value_of(name: str, text: str, read: Callable[[str], T], expected: str, where: tuple[str, int]) -> T:
    """What a text at a path and line means.

    Raises:
        MapError: Nothing that `read` knows.
    """
    try:
        return read(text)
    except (ValueError, OverflowError):
        raise MapError(f"the {name} is {shown(text)}", *where, expected=expected) from None


def _weight(raw: Raw, attributes: Given) -> int:
    text = attributes.get("weight", "").removesuffix(".0")
    try:
        return q.cost_number(text) if text else 1
    except ValueError:
        raw.notes.append("weights that are no whole numbers from 1 are not taken as costs")
        return 1


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def tags_of(text: str, path: str, line: int) -> tuple[str, ...]:
    """`core,west` as tags.

    Raises:
        MapError: They are no tags.
    """
    tags = [tag.strip() for tag in text.split(",") if tag.strip()]
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise MapError(f"{shown(tag)} is no tag", path, line, expected=TAG_FORM)
    return sorted_tags(tags)


def place_of(latitude: Any, longitude: Any, path: str, line: int) -> Point | None:
    """Latitude and longitude; None unless both are given.

    Raises:
        MapError: They lie nowhere on earth.
    """
    if not latitude or not longitude:
        return None
    return (
        _degrees("latitude", latitude, 90, path, line),
        _degrees("longitude", longitude, 180, path, line),
    )


def _degrees(name: str, text: str, most: int, path: str, line: int) -> float:
    if not _is_number(text) or not -most <= float(text) <= most:
        raise MapError(f"the {name} is {shown(text)}", path, line, expected=f"degrees from -{most} to {most}")
    return float(text)


def point_of(x: Any, y: Any, path: str, line: int) -> Point | None:
    """A place in a drawing; None unless both are given.

    Raises:
        MapError: They are no numbers.
    """
    if not x or not y:
        return None
    for text in (x, y):
        if not _is_number(text) or abs(float(text)) > 1e9:
            expected = "a number from -1e9 to 1e9"
            raise MapError(f"a place in the drawing is {shown(text)}", path, line, expected=expected)
    return float(x), float(y)

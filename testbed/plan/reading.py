"""Reads a scenario file: bytes, then text, then plain data with places.

YAML is a safe, bounded subset: no tags, no second document, no duplicate keys, aliases within
bounds, and the core schema of YAML 1.2.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from testbed.plan.problems import Key, Problem
from testbed.plan.source import Place, Source, Unreadable

BYTES_MAX = 16 * 1024 * 1024
_KEYS = "name, topology, clients"


def read_source(path: Path, kind: str = "a scenario", keys: str = _KEYS) -> Source:
    """The file's data. Duplicate keys and tags are noted as problems.

    Args:
        path: of the file.
        kind: what the file is to hold, for errors.
        keys: which it has at its top, for errors.

    Raises:
        Unreadable: There is no such file, or it is not YAML, or not UTF-8.
    """
    name = str(path)
    text = _decode(_read_bytes(path, f"{kind} file (YAML)"), name)
    source = Source(name, text, hashlib.sha256(text.encode()).hexdigest())
    source.value = build(source, compose(text, name))
    if source.value is None:
        raise Unreadable(Problem(name, 1, 1, "", "the file is empty", f"{kind}: {keys}"))
    if not isinstance(source.value, dict):
        found = "a list" if isinstance(source.value, list) else f"one value, {ascii(source.value)[:40]}"
        raise Unreadable(
            Problem(name, 1, 1, "", f"the file holds {found}", f"a mapping with the keys {keys}")
        )
    return source


def _read_bytes(path: Path, expected: str) -> bytes:
    try:
        if path.is_dir():
            raise Unreadable(Problem(str(path), 0, 0, "", "this is a directory", expected))
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise Unreadable(Problem(str(path), 0, 0, "", reason, expected)) from None
    if len(data) > BYTES_MAX:
        raise Unreadable(Problem(str(path), 0, 0, "", f"the file has more than {BYTES_MAX >> 20} MiB"))
    return data


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, error.start - data.rfind(b"\n", 0, error.start)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise Unreadable(Problem(name, line, column, "", message, "a text file in UTF-8")) from None
    return text


VALUES_MAX = 500_000
"""Aliases count as often as they are used, so that few lines cannot grow without end."""
DEPTH_MAX = 40

_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)


def read_scalar(text: str) -> Any:
    """What a plain YAML scalar means; other kinds of values raise ValueError."""
    try:
        node = compose(text, "")
    except Unreadable:
        node = None
    if node is None and text.strip():
        raise ValueError("not a YAML scalar; put it in quotes")
    if node is not None and not isinstance(node, ScalarNode):
        raise ValueError("only scalars can be set this way")
    return plain_scalar(node) if node is not None else None


def compose(text: str, name: str) -> Node | None:
    """The nodes of a YAML text.

    Raises:
        Unreadable: It is not YAML.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReusedAnchorWarning)
            node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except ReusedAnchorWarning as warning:
        anchor = re.search("'.*'", str(warning))
        message = f"the anchor {anchor[0] if anchor else ''} stands twice"
        raise Unreadable(Problem(name, 1, 1, "", message, "anchors (&name) that are unique")) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = f"not YAML: {error.problem or error.context}"
        raise Unreadable(
            Problem(name, line, column, "", message, hint=_yaml_hint(str(error.problem)))
        ) from None
    except YAMLError as error:
        at = getattr(error, "position", 0)
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise Unreadable(
            Problem(name, line, column, "", f"not YAML: {getattr(error, 'reason', error)}")
        ) from None
    except (ValueError, OverflowError):
        # An escape like "\UFFFFFFFF": there is no such character, and the error has no place.
        raise Unreadable(Problem(name, 1, 1, "", "not YAML: an escape names no character")) from None
    except RecursionError:
        raise Unreadable(Problem(name, 1, 1, "", "the file is nested too deep")) from None
    return node


def _yaml_hint(problem: str) -> str:
    if "'\\t'" in problem:
        return "indent with spaces, not with tabs"
    if "mapping values are not allowed" in problem:
        return "put a text that holds ': ' in quotes"
    if "another document" in problem:
        return "one file holds one scenario"
    if "'@'" in problem or "'`'" in problem:
        return "put the text in quotes"
    return ""


def build(source: Source, node: Node | None) -> Any:
    """Plain data from nodes; places and problems are noted in the source.

    Raises:
        Unreadable: There is too much of it.
    """
    return None if node is None else _Builder(source).value(node, ())


class _Builder:
    """Turns YAML nodes into plain data, within bounds, noting places and problems."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.count = 0

    def value(self, node: Node, key: Key) -> Any:
        place = self.place(node)
        self.count += 1
        if self.count > VALUES_MAX or len(key) > DEPTH_MAX:
            what = "nested too deep" if len(key) > DEPTH_MAX else f"larger than {VALUES_MAX} values"
            hint = "look at its aliases (*name)"
            message = f"the scenario is {what}"
            raise Unreadable(Problem(place.path, place.line, place.column, "", message, hint=hint))
        self.source.values[key] = place
        if str(node.tag) not in _TAGS:
            self.source.complain(key, f"the tag {node.tag} has no meaning here", "plain YAML without tags")
        if isinstance(node, MappingNode):
            return self.mapping(node, key)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*key, i)) for i, item in enumerate(node.value)]
        return self.scalar(node, key) if isinstance(node, ScalarNode) else None

    def mapping(self, node: MappingNode, key: Key) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name_node, item in node.value:
            at = self.place(name_node)
            if not isinstance(name_node, ScalarNode):
                self.source.complain_at(at, key, "a key is a list or a mapping", "a plain name")
                continue
            name = self.scalar_text(name_node, key)
            here = (*key, name)
            if name in made:
                line = self.source.keys[here].line
                self.source.complain_at(at, here, f"the key stands twice, first in line {line}")
                continue
            self.source.keys[here] = at
            made[name] = self.value(item, here)
        return made

    def scalar_text(self, node: ScalarNode, key: Key) -> str:
        try:
            return _whole(str(node.value))
        except ValueError as error:
            self.source.complain_at(self.place(node), key, str(error))
            return ""

    def scalar(self, node: ScalarNode, key: Key) -> Any:
        try:
            return plain_scalar(node)
        except ValueError as error:
            self.source.complain(key, str(error))
            return None

    def place(self, node: Node) -> Place:
        mark = node.start_mark
        return Place(self.source.path, mark.line + 1, mark.column + 1, mark.index)


def plain_scalar(node: ScalarNode) -> Any:
    """YAML 1.2's core schema; whatever is quoted, and dates, are strings."""
    text = _whole(str(node.value))
    if node.style is not None or str(node.tag).endswith(":str"):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > 400:
            raise ValueError("the number is too long")
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _whole(text: str) -> str:
    """The text itself, unless escapes have left half of a surrogate pair in it."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("the text holds half of a character (a lone surrogate)")
    return text

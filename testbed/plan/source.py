"""Reads a scenario file into plain data that knows where it stood.

Here: YAML (a safe, bounded subset: no tags, no second document, no duplicate
keys) and the places of keys and values. Not here: what the keys mean.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from nodes.model import PredicateSyntaxError
from testbed.plan.problems import Key, Problem, key_text

BYTES_MAX = 16 * 1024 * 1024
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


class Unreadable(Exception):  # noqa: N818
    """The file cannot be read as data at all; nothing more can be said about it."""

    def __init__(self, problem: Problem) -> None:
        """Carry the one problem."""
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Place:
    """Where something begins: line and column from 1, position in the text from 0."""

    path: str
    line: int = 0
    column: int = 0
    index: int = -1


@dataclass(slots=True)
class Source:
    """A scenario as plain data and the places of its parts."""

    path: str
    text: str
    sha256: str
    value: Any = None
    values: dict[Key, Place] = field(default_factory=dict)
    keys: dict[Key, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, key: Key, at_key: bool = False) -> Place:
        """Where a value (or its key) stands; where it is missing, what it is missing from."""
        places = self.keys if at_key else self.values
        while key and key not in places:
            key, places = key[:-1], self.values
        return places.get(key, Place(self.path, 1, 1))

    def complain(
        self, key: Key, message: str, expected: str = "", hint: str = "", at_key: bool = False
    ) -> None:
        """Note a problem with the value at a key, or with the key itself."""
        at = self.place(key, at_key)
        self.problems.append(Problem(at.path, at.line, at.column, key_text(key), message, expected, hint))

    def complain_text(self, key: Key, error: PredicateSyntaxError) -> None:
        """Note a mistake within a text, at its own column where the text stands as it is in the file."""
        at = self.place(key)
        value = self.written(key)
        for begin in (at.index, at.index + 1):  # bare or quoted
            if at.index >= 0 and "\n" not in value and self.text.startswith(value, begin):
                column = at.column + (begin - at.index) + error.column - 1
                at = Place(at.path, at.line, column)
                break
        excerpt = str(error).partition("\n")[2]
        message = f"column {error.column} of the text: {error.reason}"
        self.problems.append(
            Problem(at.path, at.line, at.column, key_text(key), message, hint=error.hint, excerpt=excerpt)
        )

    def written(self, key: Key) -> Any:
        """The value at a key as it was written, in shape or not."""
        value = self.value
        for part in key:
            value = value[part]
        return value


def read_source(path: Path) -> Source:
    """The file's data. Duplicate keys and tags are noted as problems.

    Raises:
        Unreadable: There is no such file, or it is not YAML, or not UTF-8.
    """
    name = str(path)
    data = _read_bytes(path)
    text = _decode(data, name)
    source = Source(name, text, hashlib.sha256(data).hexdigest())
    source.value = _Builder(source).build(_compose(text, name))
    if source.value is None:
        expected = "a scenario: name, topology, clients"
        raise Unreadable(Problem(name, 1, 1, "", "the file is empty", expected))
    if not isinstance(source.value, dict):
        found = "a list" if isinstance(source.value, list) else f"one value, {ascii(source.value)[:40]}"
        expected = "a mapping with the keys name, topology, clients"
        raise Unreadable(Problem(name, 1, 1, "", f"the file holds {found}", expected))
    return source


def read_text(text: str, name: str) -> Any:
    """The data of a YAML text that we wrote ourselves.

    Raises:
        Unreadable: It is not YAML, or more than plain YAML.
    """
    source = Source(name, text, "")
    value = _Builder(source, values_max=50_000_000).build(_compose(text, name))
    if source.problems:
        raise Unreadable(source.problems[0])
    return value


def read_scalar(text: str) -> Any:
    """What a plain YAML scalar means; other kinds of values raise ValueError."""
    try:
        node = YAML(typ="safe", pure=True).compose(text)
    except YAMLError:
        node = None
    if node is None and text.strip():
        raise ValueError("not a YAML scalar; put it in quotes")
    if node is not None and not isinstance(node, ScalarNode):
        raise ValueError("only scalars can be set this way")
    return _scalar(node) if node is not None else None


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise Unreadable(Problem(str(path), 0, 0, "", "this is a directory", "a scenario file (YAML)"))
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise Unreadable(Problem(str(path), 0, 0, "", reason, "a scenario file (YAML)")) from None
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


def _compose(text: str, name: str) -> Node | None:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
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


class _Builder:
    """Turns YAML nodes into plain data, within bounds, noting places and problems."""

    def __init__(self, source: Source, values_max: int = VALUES_MAX) -> None:
        self.source = source
        self.values_max = values_max
        self.count = 0

    def build(self, node: Node | None) -> Any:
        return None if node is None else self.value(node, ())

    def value(self, node: Node, key: Key) -> Any:
        place = self.place(node)
        self.count += 1
        if self.count > self.values_max or len(key) > DEPTH_MAX:
            what = "nested too deep" if len(key) > DEPTH_MAX else f"larger than {self.values_max} values"
            raise Unreadable(
                Problem(
                    place.path,
                    place.line,
                    place.column,
                    "",
                    f"the scenario is {what}",
                    hint="look at its aliases (*name)",
                )
            )
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
            if not isinstance(name_node, ScalarNode):
                at = self.place(name_node)
                self.source.problems.append(
                    Problem(
                        at.path,
                        at.line,
                        at.column,
                        key_text(key),
                        "a key is a list or a mapping",
                        "a plain name",
                    )
                )
                continue
            name = str(name_node.value)
            here = (*key, name)
            if name in made:
                first = self.source.keys[here]
                at = self.place(name_node)
                self.source.problems.append(
                    Problem(
                        at.path,
                        at.line,
                        at.column,
                        key_text(here),
                        f"the key stands twice, first in line {first.line}",
                    )
                )
                continue
            self.source.keys[here] = self.place(name_node)
            made[name] = self.value(item, here)
        return made

    def scalar(self, node: ScalarNode, key: Key) -> Any:
        try:
            return _scalar(node)
        except ValueError as error:
            self.source.complain(key, str(error))
            return None

    def place(self, node: Node) -> Place:
        mark = node.start_mark
        return Place(self.source.path, mark.line + 1, mark.column + 1, mark.index)


def _scalar(node: ScalarNode) -> Any:
    """YAML 1.2's core schema; whatever is quoted, and dates, are strings."""
    text = str(node.value)
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

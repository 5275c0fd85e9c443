"""GraphML, as the Topology Zoo and yEd write it.

Read with expat alone. A document type declaration is refused as such: GraphML
needs none, and with it go all entities, those of the outside and those that
blow up. A hyperedge becomes a node with a link to each of its ends.
"""

from __future__ import annotations

from xml.parsers import expat

from topologies.errors import MapError
from topologies.importers.attributes import link_of, node_of
from topologies.importers.raw import Raw, RawLink, RawNode, plain_label

TEXT_MAX = 100_000
"""Of one value: labels are no books."""
Attributes = dict[str, str]


def read(data: bytes, path: str) -> Raw:
    """The content of a GraphML file.

    Raises:
        MapError: It is none, or makes no sense.
    """
    reader = _Reader(path)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise MapError(f"this is no XML: {what}", path, error.lineno, expected="GraphML") from None
    except MapError:
        raise
    except (
        LookupError,
        ValueError,
    ) as error:  # raised by expat alone: what follows its calls makes MapErrors
        raise MapError(f"this XML cannot be decoded: {error}", path, 1, expected="UTF-8") from None
    return reader.finished()


class _Reader:
    """Follows the elements of one file."""

    def __init__(self, path: str) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._raw = Raw(path)
        self._names: dict[str, str] = {}
        self._defaults: dict[str, Attributes] = {"node": {}, "edge": {}, "graph": {}, "all": {}}
        self._open: list[tuple[str, int, Attributes, Attributes]] = []
        """Elements that can have data: kind, line, XML attributes, data."""
        self._key = ""
        self._words: list[str] | None = None
        self._ends: list[str] = []
        self._seen_graph = False

    def finished(self) -> Raw:
        """The complete topology."""
        if not self._seen_graph:
            raise MapError("there is no graph in this XML", self._raw.path, 1, expected="GraphML")
        self._raw.check_ends()
        return self._raw

    def _fail(self, message: str, expected: str = "", hint: str = "") -> MapError:
        line = self.parser.CurrentLineNumber
        return MapError(message, self._raw.path, line, expected=expected, hint=hint)

    def _doctype(self, *_: object) -> None:
        raise self._fail(
            "a document type declaration: entities are not read, since they can reach other files or grow "
            "without end",
            "GraphML without <!DOCTYPE",
            "remove the declaration; GraphML needs none",
        )

    def _start(self, name: str, attributes: Attributes) -> None:
        kind = name.rpartition(" ")[2]
        line = self.parser.CurrentLineNumber
        if kind in ("graph", "node", "edge", "hyperedge"):
            self._seen_graph |= kind == "graph"
            self._open.append((kind, line, attributes, {}))
            if len(self._open) > 50:
                raise self._fail("graphs within graphs within graphs", "at most 25 levels")
            self._ends = [] if kind == "hyperedge" else self._ends
        elif kind == "endpoint":
            self._ends.append(self._needed(kind, attributes, "node"))
        elif kind == "key":
            self._key = self._needed(kind, attributes, "id")
            self._names[self._key] = attributes.get("attr.name") or self._key
            self._open.append(("key", line, attributes, {}))
        elif kind in ("data", "default"):
            self._key = self._needed(kind, attributes, "key") if kind == "data" else self._key
            self._words = []

    def _needed(self, kind: str, attributes: Attributes, name: str) -> str:
        if name not in attributes:
            raise self._fail(f"<{kind}> has no attribute {name}", f'<{kind} {name}="...">')
        return attributes[name]

    def _text(self, text: str) -> None:
        if self._words is not None:
            self._words.append(text)
            if sum(map(len, self._words)) > TEXT_MAX:
                raise self._fail("a value is too long", f"at most {TEXT_MAX} characters")

    def _end(self, name: str) -> None:
        kind = name.rpartition(" ")[2]
        if kind in ("data", "default") and self._words is not None:
            self._value("".join(self._words).strip(), kind)
            self._words = None
        elif kind in ("graph", "node", "edge", "hyperedge", "key"):
            _, line, attributes, data = self._open.pop()
            _ENDS[kind](self, line, attributes, data)

    def _value(self, text: str, kind: str) -> None:
        if not self._open:
            return
        owner, _, attributes, data = self._open[-1]
        name = self._names.get(self._key, self._key)
        if kind == "data":
            data[name] = text
        elif owner == "key":
            self._defaults.setdefault(attributes.get("for", "all"), {})[name] = text

    def _with_defaults(self, kind: str, data: Attributes) -> Attributes:
        return {**self._defaults["all"], **self._defaults[kind], **data}

    def _graph(self, _line: int, _attributes: Attributes, data: Attributes) -> None:
        attributes = {name.lower(): value for name, value in data.items()}
        self._raw.title = self._raw.title or plain_label(
            attributes.get("label") or attributes.get("network", "")
        )
        self._raw.sources += [plain_label(attributes["source"])] if "source" in attributes else []

    def _node(self, line: int, attributes: Attributes, data: Attributes) -> None:
        key = self._needed("node", attributes, "id")
        self._raw.add_node(node_of(self._raw, key, line, self._with_defaults("node", data)))

    def _edge(self, line: int, attributes: Attributes, data: Attributes) -> None:
        a, b = self._needed("edge", attributes, "source"), self._needed("edge", attributes, "target")
        self._raw.links.append(link_of(self._raw, a, b, line, self._with_defaults("edge", data)))

    def _hyperedge(self, line: int, attributes: Attributes, data: Attributes) -> None:
        key = attributes.get("id") or f"hyperedge of line {line}"
        self._raw.add_node(
            RawNode(key, line, label=plain_label(data.get("label", "hub")), tags=("hyperedge",))
        )
        self._raw.links += [RawLink(key, end, line) for end in self._ends]

    def _key_end(self, _line: int, _attributes: Attributes, _data: Attributes) -> None:
        """The end of a key."""


_ENDS = {
    "graph": _Reader._graph,
    "node": _Reader._node,
    "edge": _Reader._edge,
    "hyperedge": _Reader._hyperedge,
    "key": _Reader._key_end,
}

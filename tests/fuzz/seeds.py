"""What fuzzing begins with: valid inputs from the vectors and the library, and those that were kept.

`kept/NAME.txt` has inputs of one harness in hexadecimal digits, one a line: the least set that reaches all
that longer fuzzing has reached (`make fuzz KEEP=1`), and each that once did harm.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path

from nodes.config_file import dump_config
from nodes.wire.packets import Kind
from testbed.plan.load import plan_of
from testbed.plan.rendering import node_config
from tests.fastpath.hostile import CORPUS
from tests.fuzz.targets import SCHEMES, TARGETS
from tests.wire import vectors
from tests.wire.vectors import PACKET_FILES, PAYLOAD_FILES, kind_number

HERE = Path(__file__).parent
HARNESSES = HERE / "harnesses"
KERNELS = tuple(sorted(path.stem for path in HARNESSES.glob("*.cpp")))
"""The harnesses in C++."""
LIBRARIES = ("crypto",)
"""What they are linked with."""
NAMES = (*KERNELS, *TARGETS)
BROKEN = HERE.parent / "plan" / "broken"
LIBRARY = HERE.parents[1] / "topologies" / "scenarios"
QUICK = ("advertised", "patterns", "quickstart", "single-router")
"""Scenarios that are read in little time."""
LARGEST = 64 * 1024
"""Larger inputs are fuzzed badly."""


def seeds(name: str) -> list[bytes]:
    """What fuzzing of a harness begins with, without what was kept."""
    return [each for each in _SEEDS[name]() if len(each) <= LARGEST]


def kept_path(name: str) -> Path:
    """Where the inputs stand that were kept."""
    return HERE / "kept" / f"{name}.txt"


def kept(name: str) -> list[bytes]:
    """The inputs that were kept."""
    path = kept_path(name)
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return [bytes.fromhex(line) for line in lines]


def keep(name: str, inputs: list[bytes]) -> None:
    """Keep these, and no others."""
    lines = (each.hex() + "\n" for each in sorted(set(inputs), key=lambda each: (len(each), each)))
    kept_path(name).parent.mkdir(exist_ok=True)
    kept_path(name).write_text("".join(lines), encoding="ascii")


def _packets() -> list[bytes]:
    return [vector.data for vector in vectors.load(*PACKET_FILES, "datagram")]


def _payloads() -> list[tuple[int, bytes]]:
    return [(kind_number(v.fields["kind"]), v.data) for v in vectors.load(*PAYLOAD_FILES)]


def _matches() -> list[bytes]:
    predicates = [data[4:] for kind, data in _payloads() if kind == Kind.SUBSCRIBE]
    messages = [vector.data for vector in vectors.load("message")]
    pairs = product(predicates, messages)
    return [struct.pack(">H", len(predicate)) + predicate + packet for predicate, packet in pairs]


def _reassemblies() -> list[bytes]:
    whole, first, last, middle = 12, 4, 8, 0
    rows = [[(whole, 5)], [(first, 9), (last, 9)], [(first, 32), (middle + 1, 3), (first + 1, 3), (last, 32)]]
    return [b"".join(bytes([what, size]) + bytes(size) for what, size in row) for row in rows]


def _settings() -> list[bytes]:
    plan = plan_of({"name": "x", "topology": {"generate": "line", "size": 3}, "clients": {"a": {"at": "r1"}}})
    return [dump_config(node_config(plan, node, "run")).encode() for node in plan.nodes]


def _scenarios() -> list[bytes]:
    paths = [*sorted(BROKEN.glob("*.yaml")), *(LIBRARY / f"{name}.yaml" for name in QUICK)]
    return [path.read_bytes() for path in paths]


def _dialogues() -> list[bytes]:
    """Each payload and packet alone, said under each scheme; and all of one scheme together."""
    said = [bytes([0, kind, len(data)]) + data for kind, data in _payloads() if len(data) < 256]
    said += [bytes([4, 0, len(data)]) + data for data in _packets() if len(data) < 256]
    return [bytes([scheme]) + each for scheme in range(len(SCHEMES)) for each in said]


def _steps(mode: bytes, what: int, known: list[bytes]) -> list[bytes]:
    """Each that is short enough, sealed by the neighbour, sent again, and with a bit turned."""
    short = [data for data in known if len(data) < 256]
    return [mode + bytes([what, len(data)]) + data + bytes([2, 1, 0, 2, 2, 0, 8]) for data in short]


def _links() -> list[bytes]:
    """Packets of a link, and those of a link whose key has changed."""
    sent = _steps(b"", 0, _packets())
    return [*sent, *(bytes([5, 1, 0]) + each for each in sent[:4])]


def _datagrams(keys: bytes) -> list[bytes]:
    """Under each mode, with all keys taken."""
    return [each for mode in range(3) for each in _steps(bytes([mode]) + keys, 1, _packets())]


def _records() -> list[bytes]:
    """Each payload: as it is, signed by who says it, and what another has said with a bit turned."""
    said = [(what, bytes([kind])) for kind, _ in _payloads() for what in (1, 3, 5)]
    said += [(what, bytes([kind]) + data) for kind, data in _payloads() for what in (0, 4)]
    return [bytes([what, len(body)]) + body for what, body in said if len(body) < 256]


_SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "datagram": _packets,
    "payload": lambda: [bytes([kind]) + data for kind, data in _payloads()],
    "match": _matches,
    "forward": lambda: [bytes([at, 1]) + packet for packet in _packets() for at in (0, 1)],
    "capture": lambda: [hostile.make() for hostile in CORPUS.values()],
    "reassembly": _reassemblies,
    "node-settings": _settings,
    "scenario": _scenarios,
    "router": _dialogues,
    "seal": lambda: _datagrams(bytes([4, 15])),
    "guard": _links,
    "message-guard": lambda: _datagrams(bytes([0, 31, *bytes(31)])),
    "records": _records,
}

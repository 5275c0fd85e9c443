"""What is fuzzed in Python: functions that take any bytes, and fail if something is done that must not be.

Each stands for one way by which bytes of others come in: fragments of control payloads, a node's settings,
a scenario, and all that a neighbour can say to a router, packet after packet. Not here: the kernels in C++
(`harnesses/`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from nodes.config_file import ConfigError, load_config
from nodes.routing.channel import Reassembly, Segment
from testbed.plan.load import load_plan
from testbed.plan.problems import ScenarioError
from tests.attacks.bench import Bench
from tests.fuzz.proofs import guard, message_guard, records
from tests.routing.fabric import MS

LIMIT = 64
"""Of bytes that `Reassembly` may hold."""
SCHEMES = ("pif", "psf", "siena", "cbcb", "amsp", "bs")
LONGEST = 400
"""Bytes of what one neighbour says: more would take seconds."""


def reassembly(data: bytes) -> None:
    """Fragments in any order of kinds: what comes out is what was put in since the last first fragment."""
    parts, held = Reassembly(LIMIT), dict[int, bytes]()
    at = 0
    while at + 2 <= len(data):
        what, size = data[at], data[at + 1] % 33
        fragment = data[at + 2 : at + 2 + size]
        at += 2 + size
        kind, first, last = what & 3, bool(what & 4), bool(what & 8)
        payload, _ = parts.add(Segment(kind, 1, 0, 8, first=first, last=last, fragment=fragment))
        held[kind] = fragment if first else held.get(kind, b"") + fragment
        assert 0 <= parts._size <= LIMIT, "it holds more than it may"
        assert payload is None or (last and payload == (kind, held[kind])), "a payload that nobody sent"
        if last:
            held.pop(kind)


def node_settings(data: bytes) -> None:
    """A file `node.toml`: settings, or an error that says what is wrong."""
    _from_file(data, "node.toml", load_config, ConfigError)


def scenario(data: bytes) -> None:
    """A scenario file: a plan, or an error that says what is wrong."""
    _from_file(data, "scenario.yaml", load_plan, ScenarioError)


def _from_file(data: bytes, name: str, load: Callable[[Path], object], refusal: type[Exception]) -> None:
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            load(path)
        except refusal as error:
            said = str(error)
        else:
            return
        assert str(path) in said, "an error that does not name the file"


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def router(data: bytes) -> None:
    """A neighbour that says anything over a session that is in order, and packets outside of one."""
    if not data:
        return
    bench = Bench("fuzz", SCHEMES[data[0] % len(SCHEMES)])
    at = 1
    while at + 3 <= min(len(data), LONGEST):
        what, kind, size = data[at] % 8, data[at + 1], data[at + 2]
        said = data[at + 3 : at + 3 + size]
        at += 3 + size
        if what < 4:
            bench.forge(max(kind, 1), said)
        elif what < 6:
            bench.router("r1").receive(bench.now_ns, 1, said)
            bench.deliver("r1")
        elif what == 6:
            bench.wait(kind * 4 * MS)
        else:
            bench.start("r3")
    bench.wait(300 * MS)
    for name in ("r1", "r2"):
        bench.router(name).status()
        bench.router(name).tables()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reassembly": reassembly,
    "node-settings": node_settings,
    "scenario": scenario,
    "router": router,
    "guard": guard,
    "message-guard": message_guard,
    "records": records,
}

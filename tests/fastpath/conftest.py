"""Messages and filters that often meet, by every operator and type; captures; network namespaces."""

import ctypes
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from fastpath.pcap import decode_pcap
from nodes.model import Constraint, Filter, Op, Time, Type, allows
from tests.fastpath.captures import OWN, pcap

# Few names and values from a small pool, so that constraints hold about half the time; extremes in the pool.
NAMES = st.sampled_from(["a", "ab", "b", "price", "ünïcode", "n\0ul"])
VALUES = {
    Type.STRING: st.one_of(
        st.sampled_from(["", "a", "ab", "aba", "abab", "b\0", "ÿ", "ü", "\U0010ffff"]),
        st.text("ab", max_size=6),
    ),
    Type.INTEGER: st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1])),
    Type.FLOAT: st.sampled_from([-1.5, 0.0, -0.0, 1.0, 5e-324, float("inf"), float("-inf"), 3.0]),
    Type.BOOLEAN: st.booleans(),
    Type.TIME: st.builds(Time, st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))),
}
KINDS = st.sampled_from(list(Type))


@st.composite
def constraints(draw):
    kind = draw(KINDS)
    op = draw(st.sampled_from([op for op in Op if allows(op, kind)]))
    return Constraint(draw(NAMES), kind, op, None if op is Op.ANY else draw(VALUES[kind]))


@pytest.fixture(scope="session")
def strategies():
    values = KINDS.flatmap(VALUES.__getitem__)
    return SimpleNamespace(
        values=VALUES,
        messages=st.dictionaries(NAMES, values, max_size=5),
        filters=st.lists(constraints(), max_size=4).map(Filter),
        interfaces=st.one_of(st.integers(0, 4), st.integers(60, 70), st.sampled_from([1000, 16_777_215])),
    )


class Namespace:
    """A network namespace of the test's own."""

    CLONE_NEWNET = 0x40000000

    def __init__(self, name):
        self.name = name

    def ip(self, command):
        subprocess.run(["ip", "-n", self.name, *command.split()], check=True)

    def call(self, make):
        """What `make()` returns, called in a thread that has moved into the namespace."""
        made = []

        def work():
            with Path("/run/netns", self.name).open() as file:
                assert ctypes.CDLL(None, use_errno=True).setns(file.fileno(), self.CLONE_NEWNET) == 0
            made.append(make())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return made[0]


@pytest.fixture
def decode(tmp_path):
    """decode(records, **of the file) -> (rows as dicts, counts of what was skipped)."""

    def decoded(records, own=OWN, peer="", **options):
        path = tmp_path / "test.pcap"
        path.write_bytes(records if isinstance(records, bytes) else pcap(records, **options))
        batch, counts = decode_pcap(path, mac=own, peer_mac=peer)
        batch.validate(full=True)
        rows = batch.to_pylist()
        assert counts["packets"] == len(rows)
        return rows, {name: n for name, n in counts.items() if n and name not in ("records", "packets")}

    return decoded


@pytest.fixture
def namespace():
    made = Namespace(f"cbn-fastpath-{os.getpid()}")
    subprocess.run(["ip", "netns", "add", made.name], check=True)
    try:
        yield made
    finally:
        subprocess.run(["ip", "netns", "del", made.name], check=True)

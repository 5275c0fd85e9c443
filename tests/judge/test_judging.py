"""The judge by itself: it shares nothing with the product, and reads what the documents say."""

from __future__ import annotations

import ast
import json
import re
import struct
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.model import (
    Filter,
    Occurrence,
    advertisement_covers,
    advertisement_overlaps,
    format_filter,
    matches_of,
    parse_message,
    parse_pattern,
    parse_predicate,
)
from nodes.model import covers as model_covers
from nodes.model.patterns import longest_ns as model_longest_ns
from tests.judge.judging import permitted
from tests.judge.judging.overlapping import overlap
from tests.judge.judging.packets import (
    FLOAT,
    INTEGER,
    PORT,
    STRING,
    TIME,
    SkippedError,
    open_frame,
    split,
)
from tests.judge.judging.pattern_texts import Seen, all_matches, longest_ns, paired, read_pattern
from tests.judge.judging.pcap import Record, read_capture
from tests.judge.judging.subscribing import decode_predicate
from tests.judge.judging.texts import Constraint, matches, read_message, read_predicate
from tests.judge.judging.verdict import Between, _quantile
from tests.judge.scenarios import ADVERTISED, PATTERNS, POLICIES, PREDICATES

ROOT = Path(__file__).parents[2]
JUDGING = sorted((ROOT / "tests/judge/judging").glob("*.py"))
VECTORS = ROOT / "tests/vectors"
PACKETS = ("pad", "message", "hello", "control", "ack", "datagram")


@pytest.mark.parametrize("module", JUDGING, ids=lambda path: path.stem)
def test_the_judge_imports_the_standard_library_and_itself_alone(module: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import"
            imported.add(str(node.module))
    others = {n for n in imported if n.partition(".")[0] not in sys.stdlib_module_names}
    assert all(name.startswith("tests.judge.judging.") for name in others), others
    assert "importlib" not in imported


PATTERN_PARTS = st.sampled_from(["[a = 1]", '[b = "]" or a = 2]', "[a any integer]", "[c = true]"])
PATTERN_JOINTS = st.sampled_from(["then", "and", "and another", "or"])
PATTERN_EXPRESSIONS = st.recursive(
    PATTERN_PARTS,
    lambda inner: st.builds("({} {} {} within {}ns)".format, inner, PATTERN_JOINTS, inner, st.integers(1, 9)),
    max_leaves=4,
)
PUBLISHED = st.lists(
    st.tuples(
        st.builds(Seen, st.integers(0, 9), st.integers(1, 2), st.integers(1, 9)),
        st.sampled_from(["a = 1", "a = 2", 'b = "]"', "a = 1, c = true"]),
    ),
    max_size=6,
    unique_by=lambda each: each[0][1:],
)


@given(
    st.builds(
        "{} or {} within 7ns pairing {}".format,
        PATTERN_EXPRESSIONS,
        PATTERN_EXPRESSIONS,
        st.sampled_from(["every", "first", "once"]),
    ),
    PUBLISHED,
)
def test_patterns_mean_to_the_judge_what_they_mean_to_the_model(
    text: str, published: list[tuple[Seen, str]]
) -> None:
    read = read_pattern(text)
    found = paired(read.pairing, all_matches(read.root, [(s, read_message(m)) for s, m in published]))
    expected = matches_of(parse_pattern(text), [(Occurrence(*s), parse_message(m)) for s, m in published])
    assert [tuple(map(tuple, match)) for match in found] == [tuple(map(tuple, match)) for match in expected]
    assert longest_ns(read.root) == model_longest_ns(parse_pattern(text).expression)


def test_the_judge_finds_overlaps_that_are_drawn_as_the_model_does() -> None:
    texts = [text for pattern in PATTERNS for text in re.findall(r"\[([^]]*)\]", pattern)]
    for offered, wanted in product(ADVERTISED, [*PREDICATES, *texts]):
        for one, other in product(parse_predicate(offered).filters, parse_predicate(wanted).filters):
            ours = overlap(*(next(iter(read_predicate(format_filter(each)))) for each in (one, other)))
            assert ours is advertisement_overlaps(one, other), f"{offered} and {wanted}"


def test_the_judge_permits_of_all_that_is_drawn_what_covering_permits() -> None:
    texts = [text for pattern in PATTERNS for text in re.findall(r"\[([^]]*)\]", pattern)]
    for allowed, asked in product(POLICIES["subscribe"], [*PREDICATES, *texts]):
        for one, other in product(parse_predicate(allowed).filters, parse_predicate(asked).filters):
            ours = permitted.covers(*_read(one, other))
            assert ours is model_covers(one, other), f"{allowed} and {asked}"
    for allowed, asked in product(POLICIES["advertise"], ADVERTISED):
        for one, other in product(parse_predicate(allowed).filters, parse_predicate(asked).filters):
            ours = permitted.declares(*_read(one, other))
            assert ours is advertisement_covers(one, other), f"{allowed} and {asked}"


def _read(*filters: Filter) -> list[frozenset[Constraint]]:
    return [next(iter(read_predicate(format_filter(each)))) for each in filters]


_SIGNS = st.sampled_from(["=", "!=", "<", ">", "<=", ">="])
_NUMBERS = st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)])
_CONSTRAINTS = st.one_of(
    st.builds("x {} {}".format, _SIGNS, _NUMBERS),
    st.builds("y {} {}".format, _SIGNS, st.sampled_from(["-inf", "-1.0", "0.0", "0.5", "inf"])),
    st.builds("u {} {}".format, st.sampled_from(["=", "!="]), st.sampled_from(["true", "false"])),
)
_TEXTS = st.lists(_CONSTRAINTS, max_size=4).map(lambda texts: " and ".join(texts) or "all")


@given(_TEXTS, _TEXTS)
def test_the_judge_and_the_model_agree_on_what_covers_what_of_numbers(wide: str, narrow: str) -> None:
    (one,), (other,) = (parse_predicate(text).filters for text in (wide, narrow))
    assert permitted.covers(*_read(one, other)) is model_covers(one, other)


def _bytes(lines: list[str]) -> bytes:
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def _vectors(name: str) -> list[dict[str, object]]:
    vectors: list[dict[str, object]] = json.loads((VECTORS / f"{name}.json").read_text())["vectors"]
    return vectors


@pytest.mark.parametrize("name", PACKETS)
def test_the_judge_reads_every_packet_of_the_vectors(name: str) -> None:
    for vector in _vectors(name):
        packets, malformed = split(_bytes(vector["hex"]))  # type: ignore[arg-type]
        assert packets, vector["name"]
        assert not malformed, vector["name"]


def test_the_judge_reads_no_packet_that_the_vectors_call_invalid() -> None:
    """Vectors whose mistake is within a control payload are not its business."""
    for vector in _vectors("invalid"):
        if vector["of"] in ("packet", "datagram") and "kind" not in vector:
            packets, malformed = split(_bytes(vector["hex"]))  # type: ignore[arg-type]
            assert malformed or (vector["of"] == "packet" and len(packets) != 1), vector["name"]


def test_the_judge_matches_as_the_page_on_predicates_says() -> None:
    text = (ROOT / "docs/predicate-syntax.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.*)` \| `(.*)` \| (match|no match) \|$", text, re.MULTILINE)
    assert len(rows) > 5
    for predicate, message, expected in rows:
        matched = matches(read_predicate(predicate), read_message(message))
        assert matched == (expected == "match"), predicate


def test_the_judge_reads_values_of_all_types() -> None:
    message = read_message(
        '`two words` = "caf\\u{e9}\\n", i = -3, f = 1e3, u = true, '
        "t = @2026-01-01T06:00:00.000000001Z, n = @5ns"
    )
    assert message["two words"] == (STRING, "café\n")
    assert message["i"] == (INTEGER, -3)
    assert message["f"] == (FLOAT, 1000.0)
    assert message["t"] == (TIME, 1_767_247_200_000_000_001)
    assert message["n"] == (TIME, 5)
    assert matches(read_predicate('(i < 0 or f > 2e3) and `two words` >* "caf"'), message)
    assert not matches(read_predicate("i = -3.0"), message)


def test_the_judge_reads_the_same_predicate_from_bytes_and_from_text() -> None:
    """The example of docs/wire-format.md."""
    encoded = (
        "00000002 0001 01 07 07 6169726c696e65 0001 55"
        "0002 01 01 04 64657374 0003 4f5244 02 03 05 7072696365 0000000000000190"
    )
    predicate = decode_predicate(bytes.fromhex(encoded))
    assert predicate == read_predicate('airline >* "U" or dest = "ORD" and price < 400')


def _frame(payload: bytes, checksum: int | None = None) -> bytes:
    ends = b"\x0a\0\0\1\x0a\0\0\2"
    bare = struct.pack(">4H", PORT, PORT, 8 + len(payload), 0) + payload
    words = ends + struct.pack(">HH", 17, len(bare)) + bare + b"\0" * (len(bare) % 2)
    total = sum(struct.unpack(f">{len(words) // 2}H", words)) % 0xFFFF
    udp = bare[:6] + struct.pack(">H", (0xFFFF - total) if checksum is None else checksum) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + ends
    return b"\2\0\0\0\0\2" + b"\2\0\0\0\0\1" + b"\x08\0" + ip + udp


def test_a_frame_is_skipped_for_the_first_thing_that_is_wrong_with_it() -> None:
    good = _frame(b"\1\0\0\4")
    assert open_frame(good, len(good)).payload == b"\1\0\0\4"
    assert open_frame(_frame(b"\1\0\0\4", 0), len(good)).payload, "a checksum of 0 is none"
    for data, why in (
        (_frame(b"\1\0\0\4", 77), "bad_checksum"),
        (good[:12] + b"\x08\x06" + good[14:], "not_cbn"),
        (good[:14] + b"\x44" + good[15:], "bad_frame"),
        (good[:20] + b"\x20\0" + good[22:], "ip_fragments"),
    ):
        with pytest.raises(SkippedError, match=why):
            open_frame(data, len(data))


def test_of_a_frame_that_was_captured_in_part_the_whole_packets_at_its_front_count() -> None:
    data = _frame(b"\1\0\0\4" * 3)
    frame = open_frame(data[:-2], len(data))
    assert frame.partial
    assert [len(split(frame.payload, partial)[0]) for partial in (True, False)] == [2, 0]


def _pcapng(records: list[Record]) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        size = 12 + len(body) + -len(body) % 4
        return struct.pack("<II", kind, size) + body + bytes(-len(body) % 4) + struct.pack("<I", size)

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    packets = []
    for r in records:
        high, low = divmod(r.time_ns, 1 << 32)
        packets.append(block(6, struct.pack("<5I", 0, high, low, len(r.data), r.original_bytes) + r.data))
    return section + interface + b"".join(packets)


def test_both_formats_of_captures_hold_the_same_records(tmp_path: Path) -> None:
    records = [Record(1_700_000_000_123_456_789, b"abc", 3), Record(1_700_000_001_000_000_001, b"defgh", 60)]
    parts = [struct.pack(">IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    for r in records:
        parts.append(struct.pack(">4I", *divmod(r.time_ns, 10**9), len(r.data), r.original_bytes) + r.data)
    (tmp_path / "a.pcap").write_bytes(b"".join(parts))
    (tmp_path / "b.pcapng").write_bytes(_pcapng(records))
    assert read_capture(tmp_path / "a.pcap").records == read_capture(tmp_path / "b.pcapng").records == records
    (tmp_path / "c.pcap").write_bytes(b"".join(parts)[:-1])
    cut = read_capture(tmp_path / "c.pcap")
    assert (cut.records, dict(cut.skipped)) == (records[:1], {"truncated_file": 1})


def test_a_quantile_is_exact_up_to_20000_values_and_then_within_a_ten_thousandth_and_twenty() -> None:
    assert _quantile(range(1, 11), 0.5) == 5
    assert _quantile(range(1, 5001), 0.99) == 4950
    assert _quantile(range(1, 20_001), 0.5) == 10_000
    assert _quantile(range(1, 40_001), 0.5) == Between(19_976, 20_024)

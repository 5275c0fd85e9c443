"""The parsers of wire.hpp under ASan and UBSan: no byte is read that is not there, whatever the bytes."""

import re
import struct
import time
from pathlib import Path

import pytest

from tests.native_build import compile_sanitized, run_sanitized
from tests.wire import vectors
from tests.wire.fuzzing import PACKET, PAYLOADS, PREDICATE, make_corpus
from tests.wire.vectors import PACKET_FILES, PAYLOAD_FILES, kind_number

FORMS = {PACKET.name: 0, PREDICATE.name: 100} | {form.name: int(kind) for kind, form in PAYLOADS.items()}
OF_SCHEMES = 16
"""Payloads from this kind on are not the kernel's to read, but for the predicates in them."""
MUTATIONS = 100_000


@pytest.fixture(scope="module")
def harness(tmp_path_factory) -> Path:
    return compile_sanitized(Path(__file__).with_name("codec_asan.cpp"), tmp_path_factory.mktemp("harness"))


def write_corpus(path: Path, seed: str) -> int:
    entries = [(FORMS[form.name], data) for form, data in make_corpus(seed, 500) if form.name in FORMS]
    entries += [(0, v.data) for v in vectors.load(*PACKET_FILES)]
    entries += [(kind_number(v.fields["kind"]), v.data) for v in vectors.load(*PAYLOAD_FILES)]
    entries = [(form, data) for form, data in entries if form < OF_SCHEMES or form == FORMS[PREDICATE.name]]
    path.write_bytes(b"".join(struct.pack("<BI", form, len(data)) + data for form, data in entries))
    return len(entries)


def test_parsers_stay_within_their_bytes(harness, tmp_path):
    seed = str(time.time_ns())
    print(f"again with: corpus seed and harness seed {seed}")
    corpus = tmp_path / "corpus"
    valid = write_corpus(corpus, seed)
    printed = run_sanitized(harness, str(corpus), seed, str(MUTATIONS))
    figures = [int(number) for number in re.findall(r"\d+", printed)]
    assert figures[:2] == [valid, MUTATIONS]
    assert figures[2] > MUTATIONS / 100

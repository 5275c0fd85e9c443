"""Table, FIB, pcap decoding and the socket loop under ASan, UBSan and TSan, as plain C++ programs."""

import re
import time
from pathlib import Path

import pytest

from tests.native_build import compile_sanitized, run_sanitized

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sanitized")


def figures(printed):
    return [int(number) for number in re.findall(r"\d+", printed)]


def test_F1_kernels_stay_within_their_bytes_and_agree_with_a_plain_search(folder):
    program = compile_sanitized(HERE / "fastpath_asan.cpp", folder)
    seed = str(time.time_ns())
    print(f"again with: fastpath_asan {seed} 2000")
    disagreements, matches, out, packets, _ = figures(run_sanitized(program, seed, "2000"))
    assert disagreements == 0
    assert min(matches, out, packets) > 1000, "the inputs no longer reach what is to be tested"


def test_T5_hostile_routes_lead_each_destination_that_has_a_way_there_once(folder):
    program = compile_sanitized(HERE / "route_asan.cpp", folder)
    seed = str(time.time_ns())
    print(f"again with: route_asan {seed} 1500")
    disagreements, copies, destinations, drops = figures(run_sanitized(program, seed, "1500"))
    assert disagreements == 0
    assert min(copies, destinations, drops) > 1000, "the inputs no longer reach what is to be tested"


def test_the_loop_shares_nothing_unguarded_while_fibs_are_swapped(folder):
    """ThreadSanitizer sees every access; each message is forwarded by one FIB, whole."""
    program = compile_sanitized(
        HERE / "fastpath_tsan.cpp", folder, sanitizers=["-fsanitize=thread"], libraries=["crypto"]
    )
    arrived, routed, sealed, mixed = figures(run_sanitized(program, "3000"))
    assert 0 < sealed <= arrived
    assert arrived > routed > 0
    assert mixed == 0

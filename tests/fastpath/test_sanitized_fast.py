"""The `fast` engine as plain C++ programs: against a plain search, under the sanitizers, and weighed."""

import re
import time
from pathlib import Path

import pytest

from tests.native_build import compile_sanitized, run_sanitized

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fast")


def figures(printed):
    return [int(number) for number in re.findall(r"\d+", printed)]


def test_M2_M3_M4_E5_answers_are_those_of_a_plain_search_whatever_happens(folder):
    """Adds, removes and commits interleaved; damaged messages; memory that runs out: under ASan and UBSan."""
    program = compile_sanitized(HERE / "fast_check.cpp", folder)
    seed = str(time.time_ns() % 10**9)
    print(f"again with: fast_check {seed} 300")
    disagreements, matches, refused, failures, cases = figures(run_sanitized(program, seed, "300"))
    assert disagreements == 0
    assert min(matches, cases) > 10_000, "the cases no longer reach what they should"
    assert min(refused, failures) > 500, "the cases no longer reach what they should"


def test_M2_M3_M4_E5_a_hundred_thousand_answers_at_full_speed(folder):
    """The same without sanitizers, and optimised as the extension is: compilers make faults of their own."""
    program = compile_sanitized(HERE / "fast_check.cpp", folder, "-O2", sanitizers=[])
    seed = str(time.time_ns() % 10**9)
    print(f"again with: fast_check {seed} 1500, without sanitizers")
    disagreements, *_, cases = figures(run_sanitized(program, seed, "1500"))
    assert disagreements == 0
    assert cases > 80_000


def test_F2_no_match_sees_half_of_a_commit_and_threads_share_nothing_unguarded(folder):
    """Two threads match while a third commits, under TSan; every answer is that of one index, whole."""
    program = compile_sanitized(HERE / "fast_tsan.cpp", folder, sanitizers=["-fsanitize=thread"])
    seed = str(time.time_ns() % 10**9)
    print(f"again with: fast_tsan {seed} 400")
    wrong, matches, commits = figures(run_sanitized(program, seed, "400"))
    assert wrong == 0
    assert matches > 1000
    assert commits == 400


@pytest.mark.parametrize("interfaces", ["20", "20000"])
def test_the_bytes_of_stats_are_those_the_allocator_gave_out(folder, interfaces):
    """Also after four times as many replacements as filters, all with new strings, which must not pile up."""
    program = compile_sanitized(HERE / "fast_memory.cpp", folder, sanitizers=[])
    built, malloced, churned, malloced_then, constraints = figures(
        run_sanitized(program, "20000", interfaces)
    )
    kept_by_allocator = 100_000  # freed, and counted as given out: malloc's caches for each thread
    assert built <= malloced <= built * 1.03 + kept_by_allocator
    assert churned <= malloced_then <= churned * 1.03 + 3 * kept_by_allocator
    assert built / constraints < 20
    assert churned / constraints < 120, (
        "35,000 strings of their own, each known by hash, number and first letters"
    )

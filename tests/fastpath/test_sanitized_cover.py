"""Covering against matching by the plainest means, as a plain C++ program under ASan and UBSan."""

import re
import time
from pathlib import Path

import pytest

from tests.native_build import compile_sanitized, run_sanitized

SOURCE = Path(__file__).parent / "cover_check.cpp"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_sanitized(SOURCE, tmp_path_factory.mktemp("sanitized"), "-O0")


def test_M5_M7_E14_D2_no_cover_is_claimed_falsely_and_no_reduction_loses_a_message(program):
    """A slice of `make cover-check`, which holds a million covers against messages at their boundaries."""
    seed = str(time.time_ns())
    print(f"again with: cover_check {seed} 5000")
    printed = run_sanitized(program, seed, "5000")
    wrong, _, covers, apart, messages, reductions, *advertisements = map(int, re.findall(r"\d+", printed))
    assert wrong == 0
    assert covers >= 5000
    enough = min(apart, messages, reductions, *advertisements) > 200
    assert enough, "the inputs no longer reach what is to be tested"

"""Predicates by the million against plain sets, as a plain C++ program under ASan and UBSan."""

import time
from pathlib import Path

import pytest

from tests.native_build import compile_sanitized, run_sanitized

SOURCE = Path(__file__).parent / "interests_check.cpp"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_sanitized(SOURCE, tmp_path_factory.mktemp("sanitized"), "-O0")


def test_random_histories_agree_with_plain_sets_and_leave_nothing_behind(program):
    seed = str(time.time_ns())
    print(f"again with: interests_check {seed} 2000")
    assert run_sanitized(program, seed, "2000") == "0 wrong, 2000 steps, 0 filters left\n"

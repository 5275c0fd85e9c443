"""The loop that carries links under ASan, UBSan and TSan, as a plain C++ program."""

import re
import time
from pathlib import Path

import pytest

from tests.native_build import SANITIZERS, compile_sanitized, run_sanitized

SOURCE = Path(__file__).parent / "cables_check.cpp"


@pytest.mark.parametrize("sanitizers", [SANITIZERS, ["-fsanitize=thread"]], ids=["asan-ubsan", "tsan"])
def test_links_that_change_under_way_lose_no_frame_from_sight_and_share_nothing_unguarded(
    tmp_path, sanitizers
):
    program = compile_sanitized(SOURCE, tmp_path, sanitizers=sanitizers)
    seed = str(time.time_ns())
    print(f"again with: cables_check {seed} 20000")
    figures = [int(number) for number in re.findall(r"\d+", run_sanitized(program, seed, "20000"))]
    assert min(figures) > 100, "the inputs no longer reach what is to be tested"

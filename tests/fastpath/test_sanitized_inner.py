"""The socket loop with an interface to the control plane, under ASan, UBSan and TSan, as a plain program."""

import re
import time
from pathlib import Path

import pytest

from tests.native_build import SANITIZERS, compile_sanitized, run_sanitized

SOURCE = Path(__file__).parent / "inner_check.cpp"


@pytest.mark.timeout(1500)  # compiling takes minutes of a busy machine
@pytest.mark.parametrize("sanitizers", [SANITIZERS, ["-fsanitize=thread"]], ids=["asan-ubsan", "tsan"])
def test_messages_for_the_control_plane_are_taken_or_counted_while_fibs_are_swapped(tmp_path, sanitizers):
    program = compile_sanitized(SOURCE, tmp_path, sanitizers=sanitizers, libraries=["crypto"])
    seed = str(time.time_ns())
    print(f"again with: inner_check {seed} 20000")
    sent, taken, _ = (int(number) for number in re.findall(r"\d+", run_sanitized(program, seed, "20000")))
    assert sent > 20_000
    assert taken > 1_000, "the inputs no longer reach what is to be tested"

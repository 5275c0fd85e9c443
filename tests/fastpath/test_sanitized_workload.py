"""The readers of workloads under ASan and UBSan, as a plain C++ program."""

import re
import time
from pathlib import Path

from tests.native_build import compile_sanitized, run_sanitized


def test_damaged_workloads_are_read_or_refused_and_never_overrun(tmp_path):
    program = compile_sanitized(Path(__file__).with_name("workload_asan.cpp"), tmp_path)
    seed = str(time.time_ns())
    print(f"again with: workload_asan {seed} 3000")
    printed = run_sanitized(program, seed, "3000")
    read, filters, messages, refused, invalid, different = map(int, re.findall(r"\d+", printed))
    assert min(read, filters, messages, refused) > 500, "the damage no longer reaches what is to be tested"
    assert (invalid, different) == (0, 0)

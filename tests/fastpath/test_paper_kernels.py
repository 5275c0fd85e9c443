"""The paper's algorithms under ASan and UBSan, as a plain C++ program, against a search through all filters."""

import re
import time
from pathlib import Path

from tests.native_build import compile_sanitized, run_sanitized

HERE = Path(__file__).parent


def test_F1_F5_F6_E5_paper_algorithms_agree_with_a_plain_search_and_stay_within_their_bytes(tmp_path):
    program = compile_sanitized(HERE / "paper_asan.cpp", tmp_path)
    seed = str(time.time_ns())
    print(f"again with: paper_asan {seed} 1500")
    figures = [int(number) for number in re.findall(r"\d+", run_sanitized(program, seed, "1500"))]
    disagreements, matches, eliminated, refused = figures
    assert disagreements == 0
    assert min(matches, eliminated) > 10_000, "the inputs no longer reach what is to be tested"
    assert refused > 100

"""The paper's algorithms under ASan, UBSan and TSan, as plain C++ programs."""

import re
import time
from pathlib import Path

from tests.native_build import compile_sanitized, run_sanitized

HERE = Path(__file__).parent


def figures(printed):
    return [int(number) for number in re.findall(r"\d+", printed)]


def test_F1_F5_F6_E5_paper_algorithms_agree_with_a_plain_search_and_stay_within_their_bytes(tmp_path):
    program = compile_sanitized(HERE / "paper_asan.cpp", tmp_path)
    seed = str(time.time_ns())
    print(f"again with: paper_asan {seed} 1500")
    disagreements, matches, eliminated, refused = figures(run_sanitized(program, seed, "1500"))
    assert disagreements == 0
    assert min(matches, eliminated) > 10_000, "the inputs no longer reach what is to be tested"
    assert refused > 100


def test_matching_shares_nothing_unguarded_with_commits_and_sees_each_whole(tmp_path):
    program = compile_sanitized(HERE / "paper_tsan.cpp", tmp_path, sanitizers=["-fsanitize=thread"])
    matches, mixed = figures(run_sanitized(program, "300"))
    assert matches > 0
    assert mixed == 0

"""The paper's algorithms under ASan, UBSan and TSan, as plain C++ programs."""

import re
import time
from pathlib import Path

import pytest

from tests.native_build import compile_sanitized, run_sanitized

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    return compile_sanitized(HERE / "paper_asan.cpp", tmp_path_factory.mktemp("asan"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tsan")
    return compile_sanitized(HERE / "paper_tsan.cpp", folder, sanitizers=["-fsanitize=thread"])


def figures(printed):
    return [int(number) for number in re.findall(r"\d+", printed)]


def test_F1_F5_F6_E5_paper_algorithms_agree_with_a_plain_search_and_stay_within_their_bytes(checked):
    seed = str(time.time_ns())
    print(f"again with: paper_asan {seed} 1200")
    disagreements, matches, eliminated, refused = figures(run_sanitized(checked, seed, "1200"))
    assert disagreements == 0
    assert min(matches, eliminated) > 10_000, "the inputs no longer reach what is to be tested"
    assert refused > 100


def test_matching_shares_nothing_unguarded_with_commits_and_sees_each_whole(raced):
    matches, mixed = figures(run_sanitized(raced, "300"))
    assert matches > 0
    assert mixed == 0

"""`cbn match --pattern`: what is said of a pattern and messages."""

import json
from typing import Any

import pytest

PATTERN = "[a = 1] then [b = 1] within 5s"


def test_each_expression_is_listed_with_its_matches(cbn_here: Any) -> None:
    done = cbn_here("match", "--pattern", PATTERN, "0s a = 1", "5s b = 1", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0
    assert said["told"] == [[1, 2]]
    assert [each["matches"] for each in said["expressions"]] == [[[1]], [[2]], [[1, 2]]]


@pytest.mark.parametrize(
    ("pattern", "messages", "reason"),
    [
        (PATTERN, ["0s a = 1"], "[b = 1] has no match"),
        (PATTERN, ["1s a = 1", "0s b = 1"], "was not published before"),
        (PATTERN, ["0s a = 1", "5001ms b = 1"], "5001ms apart"),
        ("[a = 1] and another [b = 1] within 5s", ["1s a = 1, b = 1"], "takes different messages"),
        ("[a = 1] or [b = 1]", ["1s c = 1"], "no operand has a match"),
    ],
)
def test_why_there_is_no_match(cbn_here: Any, pattern: str, messages: list[str], reason: str) -> None:
    done = cbn_here("match", "--pattern", pattern, *messages)
    assert done.returncode == 1
    assert reason in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--pattern", PATTERN, "a = 1"], "MESSAGE 1: 'a = 1' has no time"),
        (["--pattern", PATTERN, "0s a = 1", "1s b"], "MESSAGE 2: column 2"),
        (["--pattern", "[a = 1] then", "0s a = 1"], "PREDICATE: column 13"),
        (["--pattern", "--advertisement", PATTERN, "0s a = 1"], "one of the two"),
        (["a = 1", "a = 1", "a = 1"], "several are for --pattern"),
    ],
)
def test_what_cannot_be_read(cbn_here: Any, arguments: list[str], says: str) -> None:
    done = cbn_here("match", *arguments)
    assert done.returncode == 2
    assert says in done.stderr

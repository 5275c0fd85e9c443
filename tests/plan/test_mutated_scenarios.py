"""Scenarios with random damage: each is a plan or a list of problems, never anything else."""

import re

from testbed.plan.load import load_plan
from testbed.plan.problems import ScenarioError
from testbed.plan.recorded import plan_from_json, plan_to_json
from topologies.library import SCENARIOS

MUTANTS = 60
WORDS = [
    "null",
    "[]",
    "{}",
    "''",
    "-1",
    "1e999",
    ".nan",
    "true",
    "[[1]]",
    "{a: 1}",
    "9" * 21,
    "0s",
    "r1",
    "@",
    "~",
]


def test_a_damaged_scenario_is_a_plan_or_a_list_of_problems(tmp_path, rng):
    whole = (SCENARIOS / "single-router.yaml").read_text(encoding="utf-8")
    path = tmp_path / "damaged.yaml"
    for _ in range(MUTANTS):
        text = whole
        for _ in range(rng.randint(1, 3)):
            text = rng.choice([without_a_line, with_another_word, with_another_character, with_a_line_twice])(
                text, rng
            )
        path.write_text(text, encoding="utf-8")
        plan = plan_or_none(path)
        assert plan is None or plan_from_json(plan_to_json(plan)) == plan


def plan_or_none(path):
    try:
        return load_plan(path)
    except ScenarioError:
        return None


def without_a_line(text, rng):
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def with_a_line_twice(text, rng):
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines)


def with_another_word(text, rng):
    word = rng.choice(list(re.finditer(r"[^\s,:\[\]{}]+", text)))
    return text[: word.start()] + rng.choice(WORDS) + text[word.end() :]


def with_another_character(text, rng):
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(":-[]{}'\"\n #,&*x1") + text[at + 1 :]

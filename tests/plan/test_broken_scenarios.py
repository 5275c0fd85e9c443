"""Every broken scenario in `broken/` and the very text that says what is wrong with it.

After a change of wording: CBN_WRITE_GOLDENS=1 python -m pytest tests/plan/test_broken_scenarios.py
"""

import os
from pathlib import Path

import pytest

from testbed.plan.load import load_plan
from testbed.plan.problems import ScenarioError
from topologies.fault_kinds import KINDS

BROKEN = Path(__file__).parent / "broken"
CASES = sorted(p.stem for p in BROKEN.glob("*.yaml"))
LISTS = {
    ", ".join(KINDS): "<every kind of fault>",
    ", ".join(name for name, kind in KINDS.items() if kind.repaired_by): "<every kind that is repaired>",
}
"""A new kind of fault changes no golden."""


def reported(error):
    text = str(error).replace(f"{BROKEN}{os.sep}", "") + "\n"
    for names, instead in LISTS.items():
        text = text.replace(names, instead)
    return text


@pytest.mark.parametrize("case", CASES)
def test_a_broken_scenario_is_refused_with_what_is_wrong_and_where(case):
    with pytest.raises(ScenarioError) as caught:
        load_plan(BROKEN / f"{case}.yaml")
    golden = BROKEN / f"{case}.txt"
    if os.environ.get("CBN_WRITE_GOLDENS"):
        golden.write_text(reported(caught.value), encoding="utf-8")
    assert reported(caught.value) == golden.read_text(encoding="utf-8")


def test_there_are_plenty_of_kinds_and_no_golden_without_its_scenario():
    assert len(CASES) >= 15
    assert sorted(p.stem for p in BROKEN.glob("*.txt")) == CASES

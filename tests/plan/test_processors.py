"""`cpu` gives nodes their share of the processors, by name and by group."""

import pytest

from testbed.plan.load import plan_of
from testbed.plan.problems import ScenarioError

SCENARIO = {
    "name": "shares",
    "topology": {"routers": {"r1": {"tags": ["core"]}, "r2": {}, "r3": {}}, "links": ["r1 - r2", "r2 - r3"]},
    "clients": {"c1": {"at": "r1"}},
}


def test_later_entries_count_more_and_the_rest_have_no_limit():
    plan = plan_of({**SCENARIO, "cpu": {"routers": 0.2, "core": 0.5}})
    assert {node.name: node.cpu for node in plan.nodes} == {"r1": 0.5, "r2": 0.2, "r3": 0.2, "c1": None}


def test_a_draw_is_the_scenario_s_own_and_stays_the_same():
    plans = [plan_of({**SCENARIO, "cpu": {"one of routers": 1}}) for _ in range(2)]
    shares = [[node.cpu for node in plan.nodes] for plan in plans]
    assert shares[0] == shares[1]
    assert sorted(share for share in shares[0] if share) == [1.0]


@pytest.mark.parametrize(
    ("reported", "words"),
    [
        ({"r9": 1}, "there is no node r9"),
        ({"r1": 0}, "0 is less than the least"),
        ({"r1": "half"}, "found the text 'half'"),
    ],
)
def test_what_cannot_be_is_refused(reported, words):
    with pytest.raises(ScenarioError, match=words):
        plan_of({**SCENARIO, "cpu": reported})

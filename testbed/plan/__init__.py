"""Scenarios become Plans here: loaded, checked, expanded; every world renders from the Plan alone."""

from testbed.plan.load import load_cells, load_plan, plan_of
from testbed.plan.problems import Problem, ScenarioError
from testbed.plan.recorded import load_recorded
from testbed.plan.rendering import node_config
from testbed.plan.text import plan_from_yaml, plan_to_yaml

__all__ = [
    "Problem",
    "ScenarioError",
    "load_cells",
    "load_plan",
    "load_recorded",
    "node_config",
    "plan_from_yaml",
    "plan_of",
    "plan_to_yaml",
]

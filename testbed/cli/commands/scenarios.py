"""`cbn scenarios`: what there is to run."""

from __future__ import annotations

import argparse

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.output import print_json


def _scenarios(args: argparse.Namespace) -> int:
    from testbed.cli.commands.show import counts, summary
    from testbed.cli.scenario import shipped
    from testbed.plan.load import load_plan

    plans = {name: load_plan(path) for name, path in shipped().items()}
    if args.json:
        print_json([{**summary(plan), "name": name} for name, plan in plans.items()])
        return exits.OK
    for name, plan in plans.items():
        print(f"{name}: {counts(plan)}")
        print("".join(f"    {line}\n" for line in plan.description.strip().splitlines()), end="")
    return exits.OK


COMMAND = Command("list the scenarios that come with the testbed", add_json, _scenarios, SCENARIOS)

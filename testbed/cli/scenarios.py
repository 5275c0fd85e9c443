"""`cbn scenarios`: what there is to run."""

from __future__ import annotations

import argparse
import json

from testbed.cli import exits
from testbed.cli.plans import load, shipped
from testbed.cli.show import counts, summary


def scenarios(args: argparse.Namespace) -> int:
    """List the shipped scenarios."""
    plans = {name: load(str(path), None, ()) for name, path in shipped().items()}
    if args.json:
        print(json.dumps([summary(plan) for plan in plans.values()], indent=1, ensure_ascii=False))
        return exits.OK
    for name, plan in plans.items():
        print(f"{name}: {counts(plan)}")
        print("".join(f"    {line}\n" for line in plan.description.strip().splitlines()), end="")
    return exits.OK

"""`cbn advertise`: say what a client of a running network is going to publish."""

from __future__ import annotations

import argparse
import json
import sys

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json, add_network, count

_HELP = """\
examples:
  cbn advertise alice 'kind = "alarm" and level any integer'
  cbn advertise alice --withdraw 2

Where the scheme has the option advertisements, a client may publish only what it has
advertised, and subscriptions go only to where something is advertised that they
overlap. An advertisement stands until it is withdrawn, by the number that was printed.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help="the client that publishes")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("predicate", metavar="PREDICATE", nargs="?", help="read as an advertisement")
    what.add_argument("--withdraw", type=count, metavar="N", help="take back the one of this number")
    add_network(parser)
    add_json(parser)


def _advertise(args: argparse.Namespace) -> int:
    """Add an advertisement, or withdraw one."""
    from testbed.cli.networks import talk

    with talk(args.run) as (_, caller):
        if args.withdraw is None:
            said = caller.ask("advertise", client=args.client, predicate=args.predicate)
            if not said["permitted"]:
                caller.ask("unadvertise", client=args.client, advertisement=said["advertisement"])
                why = f"the policy does not permit it to {args.client} (policy.advertise)"
                raise exits.CommandError(f"its router does not take the advertisement: {why}", exits.FAILED)
        else:
            said = caller.ask("unadvertise", client=args.client, advertisement=args.withdraw)
    if args.json:
        print(json.dumps(said, ensure_ascii=False))
    elif args.withdraw is None:
        print(f"{args.client} advertises {said['predicate']} (advertisement {said['advertisement']})")
    else:
        print(f"{args.client} has withdrawn advertisement {said['advertisement']}")
    if not said["required"]:
        print("nobody has to advertise in this network, so it has no effect", file=sys.stderr)
    return exits.OK


COMMAND = Command(
    "say what a client of a running network is going to publish", _arguments, _advertise, NETWORKS, _HELP
)

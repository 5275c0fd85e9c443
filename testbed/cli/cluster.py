"""What commands that work with clusters share: finding the machines, placing nodes on them."""

from __future__ import annotations

import argparse

from testbed.cli import exits
from testbed.cli.command import emu_options
from testbed.cluster.hosts import Hosts
from testbed.cluster.named_hosts import HostsError, find_hosts
from testbed.cluster.options import HOME
from testbed.cluster.placement import Placement, PlacementError, place
from testbed.cluster.world import ClusterWorld
from testbed.plan.model import Plan
from testbed.plan.problems import ScenarioError


def find(named: str) -> Hosts:
    """The machines that `--hosts` names.

    Raises:
        CommandError: they are not there, or their file is wrong.
    """
    with exits.explained(HostsError, code=exits.MACHINE):
        try:
            return find_hosts(named)
        except ScenarioError as error:
            raise exits.CommandError(f"the machines cannot be read\n{error}") from error


def placed(args: argparse.Namespace, plan: Plan, hosts: Hosts) -> Placement:
    """Where `--place` and `--put` put the plan's nodes.

    Raises:
        CommandError: they cannot be there.
    """
    with exits.explained(PlacementError):
        return place(plan, hosts.machines, args.place, dict(args.put))


def chosen_cluster(args: argparse.Namespace, plan: Plan) -> ClusterWorld | None:
    """The world of `--hosts`, if `--world` says so.

    Raises:
        CommandError: options do not go together, or as `cluster_world`.
    """
    if args.world != "cluster":
        if args.hosts is not None:
            raise exits.CommandError("--hosts goes with --world cluster")
        return None
    return cluster_world(args, plan)


def cluster_world(args: argparse.Namespace, plan: Plan) -> ClusterWorld:
    """The world of the machines that the command line names.

    Raises:
        CommandError: it names none, or they cannot take the plan.
    """
    if args.hosts is None:
        raise exits.CommandError("--world cluster needs the machines: --hosts hosts.yaml, or --hosts metal")
    hosts = find(args.hosts)
    return ClusterWorld(
        hosts,
        placed(args, plan, hosts),
        bring_captures=args.captures == HOME,
        options=emu_options(args),
    )

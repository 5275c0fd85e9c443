"""`cbn render`: what a cluster is given, before anything is started."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json, add_placement, add_scenario
from testbed.cli.output import columns, print_json

if TYPE_CHECKING:
    from testbed.cluster.hosts import Hosts
    from testbed.cluster.placement import Placement
    from testbed.plan.model import Plan

_HELP = """\
examples:
  cbn render quickstart --hosts hosts.yaml
      which node runs on which machine, and which links are between machines
  cbn render geant-storm --hosts metal --place cut
  cbn render quickstart --hosts hosts.yaml --put r1=left --put r4=right
  cbn render quickstart --hosts hosts.yaml --files rendered
      what every node reads, in rendered/MACHINE/NODE.toml and NODE.script.jsonl
  cbn render --inventory --hosts hosts.yaml > inventory.json
      what Ansible is given about the machines, in JSON

HOSTS is a file that lists machines (docs/clusters.md), or metal, the machines of
`cbn metal up`; metal:LAB, those of another lab.
"""
_HEADINGS = ("MACHINE", "ADDRESS", "CAPACITY", "ROUTERS", "CLIENTS", "NODES")
NODES_SHOWN = 6


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser, optional=True)
    add_placement(parser, required=True)
    parser.add_argument(
        "--inventory", action="store_true", help="print the inventory for Ansible; takes no scenario"
    )
    parser.add_argument(
        "--files",
        type=Path,
        metavar="DIR",
        help="write what every node reads into a new folder; a run adds its id, and paths on the machine",
    )
    add_json(parser)


def _render(args: argparse.Namespace) -> int:
    from testbed.cli.cluster import find
    from testbed.cluster.inventory import inventory

    if args.inventory is (args.scenario is not None):
        raise exits.CommandError("expected a scenario, or --inventory without one")
    if args.inventory and args.files:
        raise exits.CommandError("--files goes with a scenario")
    hosts = find(args.hosts)
    if args.inventory:
        print_json(inventory(hosts))
        return exits.OK
    plan, placement = _placed(args, hosts)
    if args.files:
        _write_files(args.files, plan, placement)
    document = _document(plan, hosts, placement)
    if args.json:
        print_json(document)
    else:
        print("\n".join(_lines(document)))
    return exits.OK


def _placed(args: argparse.Namespace, hosts: Hosts) -> tuple[Plan, Placement]:
    from testbed.cli.cluster import placed
    from testbed.cli.scenario import complaints, read, tell_notes

    scenario = read(args)
    with complaints():
        plan = scenario.plan()
    tell_notes(scenario)
    return plan, placed(args, plan, hosts)


def _write_files(folder: Path, plan: Plan, placement: Placement) -> None:
    from nodes.config_file import dump_config, dump_script
    from testbed.plan.rendering import node_config

    with exits.explained(OSError):
        folder.mkdir(parents=True)
        for node in plan.nodes:
            place = folder / placement.machine_of[node.name]
            place.mkdir(exist_ok=True)
            (place / f"{node.name}.toml").write_text(
                dump_config(node_config(plan, node, "")), encoding="utf-8"
            )
            if node.script:
                (place / f"{node.name}.script.jsonl").write_text(dump_script(node.script), encoding="utf-8")


def _document(plan: Plan, hosts: Hosts, placement: Placement) -> dict[str, Any]:
    routers = {router.name for router in plan.routers}
    machines = []
    for machine in hosts.machines:
        nodes = placement.nodes_on(machine.name)
        machines.append(
            {
                "name": machine.name,
                "address": machine.address,
                "capacity": machine.capacity,
                "routers": [node for node in nodes if node in routers],
                "clients": [node for node in nodes if node not in routers],
            }
        )
    return {
        "scenario": plan.name,
        "machines": machines,
        "links": len(plan.links),
        "links_between_machines": [link.name for link in placement.links_between(plan)],
    }


def _lines(document: dict[str, Any]) -> list[str]:
    from topologies.quantities import how_many, listed

    rows = [
        (
            machine["name"],
            machine["address"],
            f"{machine['capacity']:g}",
            str(len(machine["routers"])),
            str(len(machine["clients"])),
            listed([*machine["routers"], *machine["clients"]], NODES_SHOWN),
        )
        for machine in document["machines"]
    ]
    crossing = document["links_between_machines"]
    between = f": {listed(crossing, NODES_SHOWN)}" if crossing else ""
    lines = columns(_HEADINGS, rows)
    return [*lines, f"{len(crossing)} of {how_many(document['links'], 'link')} between machines{between}"]


COMMAND = Command(
    "show what a cluster is given: placement, files of nodes, inventory",
    _arguments,
    _render,
    SCENARIOS,
    _HELP,
)

"""`cbn metal`: machines without hardware, to rehearse a deployment on and to test with."""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import MACHINE, Command, add_json, add_quiet
from testbed.cli.output import columns, print_json, show
from testbed.cluster.options import lab_meant
from topologies.quantities import age_text, how_many

if TYPE_CHECKING:
    from testbed.cluster.metal.lab import Lab

_HELP = """\
examples:
  cbn metal up 3
      boots three machines with Debian, systemd, sshd and an address each
  cbn metal status
  cbn metal ssh m1 -- systemctl status ssh
  cbn metal down

The machines are containers of systemd-nspawn. They share a root file system of
Debian packages, which is made once and kept, and have this machine's kernel. Their network
is not connected to any other. Needs root. docs/clusters.md has a session.
"""
_HEADINGS = ("LAB", "MACHINE", "STATE", "ADDRESS", "PROCESSES", "AGE")


def _name_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name", default=lab_meant(), metavar="LAB", help="which lab (default: $CBN_LAB, else metal)"
    )


def _up_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("count", type=_count, metavar="N", help="how many machines")
    _name_argument(parser)
    add_quiet(parser)
    add_json(parser)


def _count(text: str) -> int:
    from testbed.cluster.metal.lab import MOST_MACHINES

    if not text.isdecimal() or not 1 <= int(text) <= MOST_MACHINES:
        raise argparse.ArgumentTypeError(f"expected 1 to {MOST_MACHINES}, found {text!r}")
    return int(text)


def _up(args: argparse.Namespace) -> int:
    from testbed.cli.progress import progress
    from testbed.cluster.metal.lab import up
    from testbed.cluster.metal.programs import MetalError, UnableError

    began = time.monotonic()
    with progress(args.quiet or args.json) as shown:
        try:
            lab = up(args.name, args.count, shown.say)
        except UnableError as error:
            raise exits.CommandError(str(error), exits.MACHINE) from error
        except MetalError as error:
            raise exits.CommandError(str(error), exits.FAILED) from error
    took_s = time.monotonic() - began
    return show(args.json, _plain(lab) | {"took_s": round(took_s, 2)}, _started(lab, took_s))


def _started(lab: Lab, took_s: float) -> str:
    named = "" if lab.name == lab_meant() else f" --name {lab.name}"
    return "\n".join(
        [
            f"{lab.name}: {how_many(len(lab.machines), 'machine')}, up after {took_s:.1f} s",
            f"hosts: {lab.hosts_file}",
            f"  cbn metal ssh{named} {lab.machines[0].name}",
            f"`cbn metal down{named}` takes them away",
        ]
    )


def _plain(lab: Lab) -> dict[str, Any]:
    return {
        "name": lab.name,
        "state": lab.condition,
        "hosts": str(lab.hosts_file),
        "age_s": round(max(0.0, time.time() - lab.started_s), 1),
        "machines": [
            {
                "name": each.name,
                "address": each.address,
                "processes": len(each.pids),
                "console": str(each.log),
            }
            for each in lab.machines
        ],
    }


def _status(args: argparse.Namespace) -> int:
    from testbed.cluster.metal.lab import labs

    try:
        found = [_plain(lab) for lab in labs()]
    except PermissionError as error:
        raise exits.CommandError("labs are root's: use sudo", exits.MACHINE) from error
    if args.json:
        print_json({"labs": found})
    elif found:
        print("\n".join(columns(_HEADINGS, [row for lab in found for row in _rows(lab)])))
    else:
        print("no machines are up; `cbn metal up 3` boots three")
    return exits.OK


def _rows(lab: dict[str, Any]) -> list[tuple[str, ...]]:
    def state(processes: int) -> str:
        return str(lab["state"]) if lab["state"] != "down" or not processes else "up"

    age = age_text(lab["age_s"])
    if not lab["machines"]:
        return [(lab["name"], "", lab["state"], "", "", age)]
    return [
        (lab["name"], m["name"], state(m["processes"]), m["address"], str(m["processes"]), age)
        for m in lab["machines"]
    ]


def _ssh_arguments(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    parser.add_argument("machine", metavar="MACHINE", help="which machine, such as m1")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="what to run there (default: a shell)")


def _ssh(args: argparse.Namespace) -> int:
    from testbed.cluster.metal.lab import login
    from testbed.cluster.metal.programs import MetalError

    with exits.explained(MetalError):
        call = login(_lab(args.name), args.machine, args.command)
    os.execvp(call[0], call)


def _down_arguments(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    add_json(parser)


def _down(args: argparse.Namespace) -> int:
    from testbed.cluster.metal.lab import down
    from testbed.cluster.metal.programs import MetalError

    lab = _lab(args.name)
    with exits.explained(MetalError, code=exits.FAILED):
        down(lab.name)
    return show(args.json, {"name": lab.name}, f"{lab.name}: taken away")


def _lab(name: str) -> Lab:
    """The lab that is meant.

    Raises:
        CommandError: There is none, or it is not ours.
    """
    from testbed.cluster.metal.lab import find
    from testbed.cluster.metal.programs import MetalError

    try:
        return find(name)
    except MetalError as error:
        raise exits.CommandError(str(error)) from error
    except PermissionError as error:
        raise exits.CommandError("labs are root's: use sudo", exits.MACHINE) from error


COMMAND = Command(
    "boot machines without hardware, to rehearse a cluster on",
    group=MACHINE,
    help=_HELP,
    commands={
        "up": Command("boot machines", _up_arguments, _up),
        "status": Command("list the machines that are up", add_json, _status),
        "ssh": Command("log in to a machine, or run a command there", _ssh_arguments, _ssh),
        "down": Command("take the machines away; nothing of them is left", _down_arguments, _down),
    },
)

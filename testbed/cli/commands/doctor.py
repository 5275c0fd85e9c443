"""`cbn doctor`: what this machine can and cannot do, and how to fix it.

Each check tries the thing itself where that is cheap, and leaves no trace.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from testbed.cli import exits
from testbed.cli.command import MACHINE, Command, add_json
from testbed.cli.output import print_json

_HELP = """\
Every check shows what it is needed for and how to fix it. The exit code is 0 if
at least the simulator works here.
"""

EXTENSIONS = ("wire.codec", "fib", "dataplane", "capture", "cable", "pcap")
_TIMEOUT_S = 10.0
_GIGABYTE = 1_000_000_000
_DISK_BYTES = 2 * _GIGABYTE
_MEMORY_BYTES = 2 * _GIGABYTE
_BUILD = "run `make build`"

ABILITIES = {
    "sim": "simulate (cbn run --world sim)",
    "emu": "emulate with Mininet (cbn run --world emu)",
    "links": "emulate what links do to packets, and take them down",
    "netem": "have the kernel do it (cbn run --links netem)",
    "cluster": "run on several machines (cbn run --world cluster)",
    "metal": "boot machines to rehearse that on (cbn metal up)",
    "analysis": "analyse runs (cbn analyze)",
    "connect": "analyse runs by a server of Spark Connect (--master sc://)",
    "provision": "provision machines (Vagrant, Ansible)",
    "comfort": "look into captures and such",
}
"""What checks are needed for; each check names one or more of these."""


class Check(NamedTuple):
    """One thing that is there or not."""

    name: str
    ok: bool
    found: str
    needed_for: tuple[str, ...]
    fix: str


def _doctor(args: argparse.Namespace) -> int:
    checks = run_checks()
    able = {name: all(c.ok for c in checks if name in c.needed_for) for name in ABILITIES}
    if args.json:
        print_json({"abilities": able, "checks": [c._asdict() for c in checks]})
    else:
        _print(checks, able)
    return exits.OK if able["sim"] else exits.MACHINE


def _print(checks: Sequence[Check], able: dict[str, bool]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "check", "found", "needed for"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]missing[/]"
        table.add_row(mark, check.name, check.found, ", ".join(check.needed_for))
    console = Console()
    console.print(table, highlight=False)
    _print_fixes([c for c in checks if not c.ok])
    print()
    for name, text in ABILITIES.items():
        print(f"{'can   ' if able[name] else 'cannot'} {text}")


def _print_fixes(missing: Sequence[Check]) -> None:
    if missing:
        print("\nhow to fix it:")
    for check in missing:
        print(f"  {check.name}: {check.fix}")


def run_checks() -> list[Check]:
    """All checks, in the order in which a person would fix things."""
    from testbed.emu.preflight import PROGRAMS

    return [
        _python(),
        *(_extension(name) for name in EXTENSIONS),
        _disk(),
        _memory(),
        _root(),
        _package("mininet", ("emu",), _BUILD),
        *(_program(name, ("emu",), package) for name, package in PROGRAMS.items()),
        _kernel("network namespaces and veth links", "ip link add v0 type veth peer name v1", ("emu",)),
        _kernel("netem", "tc qdisc add dev lo root netem delay 1ms", ("netem",)),
        _tun(),
        _java(),
        _package("pyspark", ("analysis",), _BUILD),
        _package("pyarrow", ("analysis",), _BUILD),
        _archive(),
        _connect(),
        _package("ansible", ("provision",), "`make tools`"),
        _program("ssh", ("cluster", "metal"), "openssh-client"),
        _program("mmdebstrap", ("metal",), "mmdebstrap"),
        _program("systemd-nspawn", ("metal",), "systemd-container"),
        _program("vagrant", ("provision",), "vagrant vagrant-libvirt"),
        _program("tshark", ("comfort",), "tshark"),
    ]


def _python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Check(
        "Python 3.11 or later", sys.version_info >= (3, 11), version, ("sim",), "install Python 3.11"
    )


def _extension(name: str) -> Check:
    needed = {"wire.codec": ("sim", "emu", "analysis"), "fib": ("sim", "emu"), "pcap": ("analysis",)}
    module = f"fastpath.{name}"
    try:
        path = str(import_module(module).__file__)
        ok, found = True, f"in {Path(path).parent}"
    except ImportError as error:
        ok, found = False, str(error)
    return Check(f"compiled {module}", ok, found, needed.get(name, ("emu",)), _BUILD)


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free
    found = f"{free / _GIGABYTE:.1f} GB free here"
    return Check(
        "disk, 2 GB free", free >= _DISK_BYTES, found, ("analysis",), "make room, or use --out elsewhere"
    )


def _memory() -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = f"{total / _GIGABYTE:.1f} GB"
    return Check(
        "memory, 2 GB", total >= _MEMORY_BYTES, found, ("analysis",), "use a machine with more memory"
    )


def _root() -> Check:
    user = os.geteuid()
    return Check("root", user == 0, f"user id {user}", ("emu", "metal"), "use sudo")


def _package(name: str, needed_for: tuple[str, ...], how: str) -> Check:
    distribution = {"ansible": "ansible-core"}.get(name, name)
    ok = find_spec(name) is not None
    return Check(f"Python package {name}", ok, _installed(distribution) if ok else "no", needed_for, how)


def _installed(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "version unknown"


def _program(name: str, needed_for: tuple[str, ...], packages: str) -> Check:
    path = shutil.which(name)
    return Check(f"program {name}", path is not None, path or "no", needed_for, f"`apt install {packages}`")


def _kernel(name: str, command: str, needed_for: tuple[str, ...]) -> Check:
    """Tried in a network namespace that ends with the trial; needs root to find out."""
    failure = _trial(["unshare", "-n", *command.split()])
    fix = "a container or this kernel forbids it: use a machine of your own, or the simulator"
    if os.geteuid() != 0:
        fix = "only root can try this: `sudo cbn doctor`"
    return Check(name, failure is None, failure or "works", needed_for, fix)


def _trial(command: list[str]) -> str | None:
    """None if the command works, else its complaint in one line."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip().partition("\n")[0] or "failed"


def _tun() -> Check:
    ok, found = _opened(lambda: os.open("/dev/net/tun", os.O_RDWR))
    fix = "`modprobe tun`, as root; in a container pass /dev/net/tun through"
    return Check("tun devices", ok, found, ("links",), fix)


def _opened(open_it: Callable[[], int]) -> tuple[bool, str]:
    try:
        os.close(open_it())
    except OSError as error:
        return False, str(error)
    return True, "works"


def _connect() -> Check:
    found = "no"
    if find_spec("pyspark") is not None:
        from analysis.session import missing_for_connect

        missing = missing_for_connect()
        found = f"no {', '.join(missing)}" if missing else "all"
    fix = "pip install 'cbn-testbed[connect]'"
    return Check("packages for Spark Connect", found == "all", found, ("connect",), fix)


def _java() -> Check:
    from analysis import AnalysisError
    from analysis.java import ADVICE, find_java

    try:
        ok, found = True, str(find_java(os.environ))
    except AnalysisError as error:
        ok, found = False, str(error)
    return Check("Java 17", ok, found, ("analysis",), ADVICE)


def _archive() -> Check:
    found = "no"
    if find_spec("pyspark") is not None:
        from analysis.archive import place

        found = str(place()) if place().is_file() else "no"
    fix = "`cbn spark archive`: then Spark starts in half the time"
    return Check("archive of Spark's classes", found != "no", found, ("comfort",), fix)


COMMAND = Command("say what this machine can and cannot do", add_json, _doctor, MACHINE, _HELP)

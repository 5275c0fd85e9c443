"""Which machines a cluster has, and how to reach them: `hosts.yaml`, read and checked.

Not here: logging in (`ssh`), and what runs on a machine (`placement`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.plan.problems import ScenarioError
from testbed.plan.reading import read_source
from testbed.plan.shape import check_shape
from testbed.plan.source import Source, Unreadable

SCHEMA = Path(__file__).with_name("hosts.schema.json")
SSH_PORT = 22
_KIND = "a cluster"
_KEYS = "machines, user, key"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that nodes can run on."""

    name: str
    address: str
    port: int = SSH_PORT
    user: str | None = None
    """None: whom ssh's own configuration names."""
    key: Path | None = None
    known_hosts: Path | None = None
    ssh: tuple[tuple[str, str], ...] = ()
    """Options of ssh_config, beside those above."""
    capacity: float = 1.0
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hosts:
    """The machines of a cluster, in the order of their file."""

    path: Path
    machines: tuple[Machine, ...]

    def machine(self, name: str) -> Machine:
        """The machine of that name.

        Raises:
            KeyError: There is none.
        """
        return {machine.name: machine for machine in self.machines}[name]


def read_hosts(path: Path) -> Hosts:
    """The machines that a file lists.

    Raises:
        ScenarioError: With everything that is wrong with the file.
    """
    try:
        source = read_source(path, _KIND, _KEYS)
    except Unreadable as error:
        raise ScenarioError([error.problem]) from None
    data = check_shape(source, SCHEMA)
    machines = data.get("machines") or {}
    if isinstance(machines, dict):
        _check_addresses(source, machines, data)
        _check_files(source, machines, data)
    if source.problems:
        raise ScenarioError(source.problems)
    return Hosts(path, tuple(_machine(name, given, data, path.parent) for name, given in machines.items()))


def _check_addresses(source: Source, machines: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Two names of one machine would let it take two shares."""
    first: dict[tuple[str, int], str] = {}
    for name, given in machines.items():
        if not isinstance(given, dict) or "address" not in given:
            continue
        at = (str(given["address"]), int(given.get("port", data.get("port", SSH_PORT))))
        if at in first:
            message = f"{at[0]}, port {at[1]}, is the machine {first[at]} already"
            source.complain(("machines", name, "address"), message, "each machine once")
        first.setdefault(at, name)


def _check_files(source: Source, machines: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    folder = Path(source.path).parent
    keys = [((name,), data[name]) for name in ("key", "known_hosts") if name in data]
    keys += [
        (("machines", name, "key"), given["key"])  # type: ignore[misc]
        for name, given in machines.items()
        if isinstance(given, dict) and "key" in given
    ]
    for key, text in keys:
        path = _file(text, folder)
        if not path.is_file():
            source.complain(key, f"there is no file {path}", "a file of SSH, from this file's folder")


def _file(text: str, folder: Path) -> Path:
    return (folder / Path(text).expanduser()).resolve()


def _machine(name: str, given: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> Machine:
    def path(key: str) -> Path | None:
        text = given.get(key, data.get(key))
        return None if text is None else _file(text, folder)

    return Machine(
        name=name,
        address=given["address"],
        port=given.get("port", data.get("port", SSH_PORT)),
        user=given.get("user", data.get("user")),
        key=path("key"),
        known_hosts=path("known_hosts"),
        ssh=tuple({**data.get("ssh", {}), **given.get("ssh", {})}.items()),
        capacity=float(given.get("capacity", 1)),
        tags=tuple(sorted(given.get("tags", ()))),
    )

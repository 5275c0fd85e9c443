"""what it says is read as it is written, and what is wrong is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.cluster.hosts import Machine, read_hosts
from testbed.cluster.ssh import ssh_command
from testbed.plan.problems import ScenarioError


def written(folder: Path, text: str) -> Path:
    path = folder / "hosts.yaml"
    path.write_text(text)
    return path


def test_a_machine_has_what_its_entry_says_and_else_what_holds_for_all(tmp_path: Path) -> None:
    for name in ("all.key", "one.key", "known"):
        (tmp_path / name).touch()
    hosts = read_hosts(
        written(
            tmp_path,
            "user: you\nport: 2222\nkey: all.key\nknown_hosts: known\nssh: {ProxyJump: gate}\n"
            "machines:\n"
            "  b: {address: 192.0.2.2, capacity: 2.5, tags: [y, x]}\n"
            "  a: {address: host.example, user: me, port: 22, key: one.key}\n",
        )
    )
    known, ssh = tmp_path / "known", (("ProxyJump", "gate"),)
    assert hosts.machines == (
        Machine("b", "192.0.2.2", 2222, "you", tmp_path / "all.key", known, ssh, 2.5, ("x", "y")),
        Machine("a", "host.example", 22, "me", tmp_path / "one.key", known, ssh),
    )


def test_logging_in_takes_what_the_file_says_and_asks_nobody(tmp_path: Path) -> None:
    machine = Machine("a", "192.0.2.1", 2222, "you", tmp_path / "key", ssh=(("ProxyJump", "gate"),))
    call = ssh_command(machine, ["true"])
    assert call[-6:] == ["-p", "2222", "-l", "you", "192.0.2.1", "true"]
    for option in ("BatchMode=yes", "ProxyJump=gate", f"IdentityFile={tmp_path / 'key'}"):
        assert option in call


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: the file is empty\n    expected: a cluster: machines, user, key"),
        ("machines: {}\n", "1:11: machines: found 0 items"),
        ("machines:\n  a: {adress: h}\n", "2:7: machines.a.adress: unknown key"),
        ("machines:\n  a: {user: x}\n", "2:3: machines.a: the key address is missing"),
        ("machines:\n  a: {address: -x}\n", "2:16: machines.a.address: the text '-x' is no address"),
        ("machines:\n  A B: {address: h}\n", "2:3: machines.A B: the text 'A B' is no name of a machine"),
        ("machines:\n  a: {address: h, capacity: 0}\n", "2:29: machines.a.capacity: 0 is less than"),
        ("machines:\n  a: {address: h, port: 70000}\n", "2:25: machines.a.port: 70000 is more than"),
        ("key: no.key\nmachines:\n  a: {address: h}\n", "1:6: key: there is no file"),
        (
            "machines:\n  a: {address: h}\n  b: {address: h}\n",
            "3:16: machines.b.address: h, port 22, is the machine a already",
        ),
        ("machines: {a: {address: h}}\nssh: {bad name: 1}\n", "2:7: ssh.bad name: the text 'bad name'"),
        ("machines: [a]\n", "1:11: machines: found a list"),
        ("machines:\n  a: 192.0.2.1\n", "2:6: machines.a: found the text '192.0.2.1'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_hosts(written(tmp_path, text))
    assert expected in str(raised.value).replace(f"{tmp_path}/hosts.yaml:", "")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nobody\.yaml: there is no such file\n.*a cluster file"):
        read_hosts(tmp_path / "nobody.yaml")

"""`cbn render`: where nodes would run, and what Ansible is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.conftest import PATIENCE_S, ROOT

HOSTS = "user: you\nport: 2222\nmachines:\n  left: {address: 192.0.2.1}\n  right: {address: 192.0.2.2}\n"


def render(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed.cli", "render", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hosts.yaml").write_text(HOSTS)
    return tmp_path


def test_every_node_of_a_scenario_is_shown_on_a_machine(folder: Path) -> None:
    done = render(folder, "quickstart", "--hosts", "hosts.yaml", "--put", "r1=right", "--json")
    document = json.loads(done.stdout)
    assert [machine["name"] for machine in document["machines"]] == ["left", "right"]
    assert "r1" in document["machines"][1]["routers"]
    assert sum(len(m["routers"]) for m in document["machines"]) == 6
    assert sum(len(m["clients"]) for m in document["machines"]) == 8
    assert document["links"] == 14


def test_the_inventory_has_the_machines_in_the_group_that_the_playbooks_prepare(folder: Path) -> None:
    document = json.loads(render(folder, "--inventory", "--hosts", "hosts.yaml").stdout)
    machines = document["cluster"]["hosts"]
    assert list(machines) == ["left", "right"]
    assert machines["left"]["ansible_host"] == "192.0.2.1"
    assert (machines["left"]["ansible_user"], machines["left"]["ansible_port"]) == ("you", 2222)
    assert "hosts: cluster" in (ROOT / "playbooks" / "site.yml").read_text()


def test_what_nodes_read_is_written_by_machine_and_never_over_what_is_there(folder: Path) -> None:
    words = ("quickstart", "--hosts", "hosts.yaml", "--put", "r1=right", "--files", "rendered")
    assert render(folder, *words).returncode == 0
    written = {path.name: path for path in (folder / "rendered").rglob("*.toml")}
    assert len(written) == 14
    assert written["r1.toml"].parent.name == "right"
    assert 'name = "r1"' in written["r1.toml"].read_text()
    [script] = (folder / "rendered").rglob("ana.script.jsonl")
    assert "publish" in script.read_text()
    again = render(folder, *words)
    assert again.returncode == 2
    assert "File exists" in again.stderr


def test_machines_of_one_address_behind_different_gates_do_not_share_connections_of_ansible(
    folder: Path,
) -> None:
    def path(**changed: str) -> str:
        text = HOSTS + "".join(f"{key}: {value}\n" for key, value in changed.items())
        (folder / "hosts.yaml").write_text(text)
        document = json.loads(render(folder, "--inventory", "--hosts", "hosts.yaml").stdout)
        return str(document["cluster"]["hosts"]["left"]["ansible_control_path"])

    (folder / "keys").write_text("192.0.2.1 ssh-ed25519 one\n")
    gated = path(ssh="{ProxyJump: gate}", known_hosts="keys")
    assert path(ssh="{ProxyJump: gate}", known_hosts="keys") == gated
    assert path(ssh="{ProxyJump: other}", known_hosts="keys") != gated
    (folder / "keys").write_text("192.0.2.1 ssh-ed25519 two\n")
    assert path(ssh="{ProxyJump: gate}", known_hosts="keys") != gated


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("quickstart", "--hosts", "none.yaml"), 2, "none.yaml: there is no such file"),
        (("quickstart", "--hosts", "metal:nobody"), 3, "there is no lab 'nobody'"),
        (("quickstart", "--hosts", "hosts.yaml", "--put", "r9=left"), 2, "there is no router 'r9'"),
        (("quickstart", "--hosts", "hosts.yaml", "--put", "r1"), 2, "expected ROUTER=MACHINE"),
        (("--hosts", "hosts.yaml"), 2, "expected a scenario, or --inventory"),
        (("quickstart", "--inventory", "--hosts", "hosts.yaml"), 2, "expected a scenario, or --inventory"),
    ],
)
def test_mistakes_are_answered_with_what_to_do(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = render(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr

"""`--hosts vagrant`: the nodes that `vagrant up` has made, by the file that Vagrantfile keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cluster.named_hosts import HostsError, find_hosts
from testbed.plan.problems import ScenarioError


def write(folder: Path, machines: dict[str, dict[str, str]]) -> None:
    folder.mkdir()
    (folder / "known_hosts").write_text("192.0.2.1 ssh-ed25519 AAAA\n")
    (folder / "key").write_text("")
    (folder / "hosts.yaml").write_text(json.dumps({"known_hosts": "known_hosts", "machines": machines}))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VAGRANT_DOTFILE_PATH", raising=False)


def test_nodes_are_found_from_any_folder_below_that_of_vagrantfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / ".vagrant", {"node1": {"address": "192.0.2.1", "user": "vagrant", "key": "key"}})
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    (machine,) = find_hosts("vagrant").machines
    assert (machine.name, machine.address, machine.user) == ("node1", "192.0.2.1", "vagrant")
    assert machine.key == tmp_path / ".vagrant/key"
    assert machine.known_hosts == tmp_path / ".vagrant/known_hosts"


def test_they_are_found_where_vagrant_was_told_to_keep_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "kept", {"node1": {"address": "192.0.2.1"}})
    monkeypatch.setenv("VAGRANT_DOTFILE_PATH", str(tmp_path / "kept"))
    assert [machine.name for machine in find_hosts("vagrant").machines] == ["node1"]


def test_without_nodes_it_is_said_how_they_are_made() -> None:
    with pytest.raises(HostsError, match="CBN_NODES=3 vagrant up"):
        find_hosts("vagrant")


def test_a_key_that_is_gone_is_named_with_its_place(tmp_path: Path) -> None:
    write(tmp_path / ".vagrant", {"node1": {"address": "192.0.2.1", "key": "lost"}})
    with pytest.raises(ScenarioError, match="there is no file"):
        find_hosts("vagrant")


def test_a_file_of_that_name_comes_first(tmp_path: Path) -> None:
    (tmp_path / "vagrant").write_text("machines: {left: {address: 192.0.2.9}}\n")
    assert [machine.name for machine in find_hosts("vagrant").machines] == ["left"]

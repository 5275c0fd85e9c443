"""A machine gets another version of the package; after the tests of runs, which share the machines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster.conftest import ROOT, Cluster

pytestmark = pytest.mark.cluster


def test_another_version_takes_the_place_of_the_one_before(provisioned: Cluster, tmp_path: Path) -> None:
    archive = tmp_path / "wheels.tar"
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    subprocess.run(["tar", "-xf", ROOT / "build" / "wheels.tar", "-C", wheels], check=True)
    (wheels / "note").write_text("other bytes, other version")
    subprocess.run(["tar", "-cf", archive, "-C", wheels, "."], check=True)
    before = provisioned.on("m1", "readlink /opt/cbn/current")
    played = provisioned.play("--tags", "package", "--limit", "m1", "-e", f"package_archive={archive}")
    assert played.code == 0, played.text
    assert provisioned.on("m1", "readlink /opt/cbn/current") != before
    assert provisioned.on("m1", "ls -d /opt/cbn/*/ | wc -l") == "2"
    assert provisioned.on("m1", "cbn --version").startswith("cbn ")

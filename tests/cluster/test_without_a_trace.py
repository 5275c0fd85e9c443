"""Machines are left as they were found; after all other tests that share them."""

from __future__ import annotations

import difflib

import pytest

from tests.cluster.conftest import MACHINES, Cluster

pytestmark = pytest.mark.cluster


def test_teardown_leaves_machines_as_they_were_before_they_were_provisioned(provisioned: Cluster) -> None:
    assert provisioned.everything("m1") != provisioned.bare["m1"]
    played = provisioned.play(playbook="teardown.yml")
    assert played.code == 0, played.text
    for machine in MACHINES:
        before, after = (
            text.splitlines() for text in (provisioned.bare[machine], provisioned.everything(machine))
        )
        assert list(difflib.unified_diff(before, after, "before", "after", n=0)) == []
    again = provisioned.play(playbook="teardown.yml")
    assert again.changed == dict.fromkeys(MACHINES, 0)

"""One core, three worlds: the emulated one delivers what the simulated one does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nodes.scheme_catalog import CATALOG
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = [pytest.mark.emu, pytest.mark.sim]


@pytest.mark.parametrize("scheme", sorted(CATALOG))
def test_both_worlds_deliver_the_same_messages_over_as_many_hops(
    bed: Any, second_bed: Any, progress: Any, scheme: str
) -> None:
    plan = replace(bed.plan(), scheme=scheme)
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    assert bed.hops() == second_bed.hops()
    assert bed.delivered() == bed.owed()
    assert len(bed.hops()) > 100

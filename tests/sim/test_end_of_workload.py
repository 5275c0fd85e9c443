"""At the end of its workload a network has to agree on all of it, also if nothing failed."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.routing.router import Router
from nodes.wire.packets import Kind
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.sim.simulation import Simulation, SimulationFailedError

pytestmark = pytest.mark.sim


def plan(**settings: Any) -> Plan:
    """Two routers; a client at each, which wants something during the workload."""
    return plan_of(
        {
            "name": "end",
            "scheme": {"name": "bs"},
            "topology": {"routers": ["r1", "r2"], "links": ["r1 - r2"]},
            "clients": {
                "p": {"at": "r1", "publish": [{"message": "x = 1", "at": "3s"}]},
                "s": {"at": "r2", "subscribe": [{"predicate": "x = 2", "at": "1s"}]},
            },
            "timing": {"ready_timeout": "5s"},
            **settings,
        },
        "end",
    )


def losing(simulation: Simulation, router: str, kind: Kind) -> None:
    """Let a router lose the payloads of a kind that come from now on, as if it had taken them."""
    core = simulation.network.cores[router]
    assert isinstance(core, Router)
    scheme = core.scheme
    scheme._handlers[int(kind)] = lambda now_ns, interface, payload: None  # type: ignore[attr-defined]


def test_a_run_without_faults_fails_if_its_routers_do_not_agree_when_the_workload_is_over() -> None:
    """Nobody misses what is lost: no message matches it."""
    simulation = Simulation(plan(), "end", lambda _: None)
    simulation.get_ready()
    losing(simulation, "r1", Kind.CD_UPDATE)
    with pytest.raises(
        SimulationFailedError,
        match=r"had not converged at the end of the workload after 5 s .* r1 has not received all that r2",
    ):
        simulation.work()
    assert [each.causes for each in simulation.faults.tracker.history] == [("start",)]


def test_what_clients_want_at_the_very_end_is_waited_for() -> None:
    made = plan(clients={"s": {"at": "r2", "subscribe": [{"predicate": "x = 2", "at": "1s"}]}})
    simulation = Simulation(made, "end", lambda _: None)
    simulation.get_ready()
    simulation.work()
    assert simulation.network.unconverged() == []
    assert [each.causes for each in simulation.faults.tracker.history] == [("start",)]
    assert simulation.scheduler.now_ns > simulation.start_ns + 1_000_000_000

"""Measures an emulated run, and makes the certificate of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from testbed.emu.meter import Meter
from testbed.emu.network import CbnNet, EmulatedLive
from testbed.emu.probing import probe_links
from testbed.live.fabric import NetworkError
from testbed.plan.model import Plan
from testbed.runs.fidelity import Fidelity
from testbed.runs.judgement import judge
from testbed.runs.measures import Evidence, ProbeMeasure


class Measuring:
    """The measurements of one run on this machine, as of `Meter`; and the certificate that follows."""

    def __init__(self, plan: Plan, dilate: int) -> None:
        self._plan = plan
        self._dilate = dilate
        self._meter = Meter()
        self._evidence: Evidence | None = None
        self._probes: tuple[ProbeMeasure, ...] = ()

    def start(self, environment: Mapping[str, str], logs: Path) -> None:
        """Start the sampler."""
        self._meter.start(environment, logs)

    def probe(self, network: CbnNet) -> None:
        """Send frames over the links that were just built, before anybody else does.

        Raises:
            NetworkError: it cannot be done; the text says why.
        """
        try:
            self._probes = probe_links(self._plan, network.chosen, network.pid, self._dilate)
        except OSError as error:
            raise NetworkError(f"the links that were built cannot be probed: {error}") from error

    def begin(self, live: EmulatedLive) -> None:
        """The workload begins: what happened before counts no more."""
        live.network.count_lateness_anew()
        self._meter.begin(live.nodes, live.network.measures())

    def end(self, live: EmulatedLive, late_starts: Sequence[str], late_faults: Sequence[str]) -> None:
        """The workload is over and everything has arrived; what did not happen on time meanwhile."""
        measured = self._meter.end(live.nodes, live.network.measures())
        self._evidence = Evidence(
            plan=self._plan,
            dilate=self._dilate,
            machines={"": measured.machine},
            nodes=measured.nodes,
            links=measured.links,
            probes=self._probes,
            late_starts=tuple(late_starts),
            late_faults=tuple(late_faults),
            faults=tuple(live.applied),
        )

    def fidelity(self, captured_frames: int, capture_drops: int) -> Fidelity | None:
        """The certificate; None: the run did not get through its workload."""
        if self._evidence is None:
            return None
        return judge(replace(self._evidence, captured_frames=captured_frames, capture_drops=capture_drops))

    def stop(self) -> list[str]:
        """End the sampler; what went wrong, for people."""
        return self._meter.stop()

"""One run in the emulated world: how its network is built, captured and measured.

The rest is `testbed.live.run`.
"""

from __future__ import annotations

from contextlib import ExitStack

from testbed.emu.attackers import Attackers
from testbed.emu.background import Background
from testbed.emu.children import Watch
from testbed.emu.measuring import Measuring
from testbed.emu.network import CbnNet, EmulatedLive
from testbed.emu.options import EmuOptions
from testbed.emu.preflight import raise_descriptor_limit
from testbed.emu.recorder import Recorder
from testbed.live.faults import LiveFaults
from testbed.live.interruption import Shield
from testbed.live.registry import Registration
from testbed.live.run import LiveRun, Results
from testbed.live.stages import Stages
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Progress


class EmulatedRun(LiveRun[EmulatedLive]):
    """See `LiveRun`."""

    def __init__(
        self, plan: Plan, directory: RunDirectory, progress: Progress, options: EmuOptions | None = None
    ) -> None:
        self._options = options or EmuOptions()
        super().__init__(plan, directory, progress, dilate=self._options.dilate)
        self._watch = Watch()
        capture = "af_packet" if plan.record.captures else "none"
        self._implementation = {"codec": "fastpath", "links": "none", "capture": capture}
        slowed = self._clock.dilate, self._clock.dilate_from_ns
        self._recorder = Recorder(plan, directory, *slowed)
        self._background = Background(plan, directory, *slowed)
        self._attackers = Attackers(plan, directory, *slowed)
        self._measuring = Measuring(plan, self._options.dilate)

    def _results(self) -> Results:
        frames, drops = self._recorder.frames, self._recorder.drops
        return Results(self._implementation, frames, drops, self._measuring.fidelity(frames, drops))

    def _build(self, made: ExitStack, shield: Shield, registration: Registration) -> tuple[EmulatedLive, int]:
        """Namespaces and links, captures running, node processes started."""
        raise_descriptor_limit(self._plan)
        with shield.hold():
            network = self._network(made, registration)
            made.callback(lambda: self._remarks.extend(self._measuring.stop()))
            self._measuring.start(registration.environment(), self._directory.logs)
            network.build()
            self._implementation |= network.implementation()
        self._measuring.probe(network)
        with shield.hold():
            self._record(made, registration, network)
        if self._recorder.child is not None:
            self._recorder.await_ready()
        with shield.hold():
            began_ns = self._clock.now_ns()
            made.callback(lambda: self._defects.extend(network.stop_nodes()))
            network.start()
        assert network.live is not None
        if self._attackers.links:
            network.live.attackers = self._attackers
        return network.live, began_ns

    def _at_start(self, start_ns: int) -> None:
        self._background.begin(start_ns)

    def _workload_begins(self, live: EmulatedLive) -> None:
        self._measuring.begin(live)

    def _workload_arrived(self, live: EmulatedLive, stages: Stages, faults: LiveFaults) -> None:
        live.nodes.weigh()
        self._measuring.end(live, stages.late_starts, faults.late)

    def _network(self, made: ExitStack, registration: Registration) -> CbnNet:
        """The network, to be undone however the run ends; what takes long to start is started."""
        network = CbnNet(
            self._plan,
            registration,
            self._directory,
            options=self._options,
            clock=self._clock,
            watch=self._watch,
        )
        made.callback(lambda: self._defects.extend(network.stop()))
        network.prepare()
        return network

    def _record(self, made: ExitStack, registration: Registration, network: CbnNet) -> None:
        """Before any node is started: the captures are to hold the first packet of the first."""
        made.callback(self._watch.close)
        if self._plan.record.captures:
            made.callback(self._stop_recorder)
            self._recorder.start(network.pid, registration.environment(), self._watch)
        if self._plan.background:
            made.callback(self._stop_background)
            self._background.start(network.pid, registration.environment(), self._watch)

        if self._attackers.links:
            made.callback(lambda: self._defects.extend(self._attackers.stop()))
            self._attackers.start(network.pid, registration.environment(), self._watch)

    def _stop_background(self) -> None:
        defects, remarks = self._background.stop()
        self._defects.extend(defects)
        self._remarks.extend(remarks)

    def _stop_recorder(self) -> None:
        self._defects.extend(self._recorder.stop())
        self._remarks.extend(self._recorder.losses())
        if self._recorder.counters:
            self._defects.extend(self._recorder.write_index(self._start_ns))

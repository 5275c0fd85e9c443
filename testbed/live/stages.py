"""What happens to a network once it runs: ready, workload with its faults, drain.

Not here: building it and taking it down (`run`), applying a fault (`live`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from testbed.live.fabric import POLL_S, Life, NotReadyError, Status
from testbed.live.faults import LiveFaults
from testbed.live.live import Live
from testbed.live.traffic import Drain, done_actions, failed_actions, script_length_ns, scripted_actions
from testbed.plan.model import Fault, Plan
from testbed.runs.world import Progress
from topologies.quantities import listed

LEAD_NS = 200_000_000
LEAD_PER_CLIENT_NS = 2_000_000
WORKLOAD_POLL_S = 0.1
WORKLOAD_GRACE_S = 60.0
NS = 1_000_000_000
_SHOWN = 8


class Stages:
    """The stages of a run on a network that was just started; to be called in order."""

    def __init__(self, plan: Plan, live: Live, faults: LiveFaults, progress: Progress) -> None:
        self.start_ns = 0
        """The scenario's time zero; 0 until the network is ready."""
        self.at_start: Callable[[int], None] = lambda _: None
        """Called with the time zero, just before it."""
        self.remarks: list[str] = []
        """What a person should know of a run that goes well all the same."""
        self.late_starts: list[str] = []
        """Clients that heard of the scripts' start after it."""
        self._plan = plan
        self._live = live
        self._nodes = live.nodes
        self._clock = live.clock
        self._faults = faults
        self._progress = progress
        self._worked = False
        """Whether scripts, programs and faults were seen to be over."""

    def get_ready(self) -> None:
        """Wait until every node answers and the network agrees with itself.

        Raises:
            NotReadyError: it does not in time; the text lists what is amiss.
            ProcessDiedError: a node has ended.
        """
        deadline = self._deadline(self._plan.timing.ready_timeout_ns)
        self._nodes.await_listening(deadline)
        self._faults.look()
        while not self._faults.tracker.converged:
            if time.monotonic() > deadline:
                raise NotReadyError(listed(self._faults.explain(), _SHOWN, "; "))
            self._nodes.watch.wait(self._rest_s())
            self._faults.look()

    def work(self) -> None:
        """Let scripts run and faults happen, until both are over and the network agrees on all of it.

        Raises:
            NotReadyError: it takes too long; the text says who is not done.
            ProcessDiedError: a node has ended that was not to.
            FaultError: a fault cannot be applied.
        """
        self._start_scripts()
        self._start_programs()
        total, seen = scripted_actions(self._plan), self._turn({})
        while not self._done(seen, total):
            self._progress.advance(done_actions(self._plan, seen))
            self._nodes.watch.wait(self._faults.wait_s(self._rest_s()))
            seen = self._turn(seen)
        self._progress.advance(done_actions(self._plan, seen))
        self.remarks += [*self._nodes.end_programs(), *failed_actions(seen), *self._faults.late]

    def drain(self) -> None:
        """Wait until everything sent has arrived."""
        drain = Drain(self._plan)
        deadline = self._deadline(self._plan.timing.drain_timeout_ns)
        while not drain.at_rest(self._clock.now_ns(), self._nodes.statuses()):
            if time.monotonic() > deadline:
                self.remarks.append(f"messages still moved when the drain's time was over: {drain.open}")
                break
            self._nodes.pause()
        if drain.open:
            self.remarks.append(f"sent and received differ on {', '.join(drain.open)}")

    def _start_scripts(self) -> None:
        """Set time zero, soon; tell the clients, and let the faults follow it."""
        lead_ns = LEAD_NS + LEAD_PER_CLIENT_NS * len(self._plan.clients)
        self.start_ns = self._clock.now_ns() + lead_ns // self._clock.dilate
        self.late_starts = late = self._nodes.start_scripts(self.start_ns)
        if late:
            self.remarks.append(f"{', '.join(late)} heard of the start after it: the machine is overloaded")
        self._faults.follow(self._plan.faults, self._plan.traces, self.start_ns)
        self.at_start(self.start_ns)

    def _start_programs(self) -> None:
        """Start programs at time zero: what one wants from before it would be owed at once."""
        if self._plan.programs:
            left_ns = max(0, self.start_ns - self._clock.now_ns())
            self._nodes.watch.wait(self._clock.real_wait_s(left_ns))
            self._nodes.start_programs()

    def _look_at_programs(self) -> None:
        """Note those that have ended by themselves, which is no failure of the run."""
        for ended in self._nodes.programs.ended():
            self._nodes.life[ended.name] = Life.ENDED
            if ended.said:
                self.remarks.append(ended.said)
            if ended.abrupt:
                self._faults.note(Fault(0, "crash", ended.name), ended.at_ns)

    def _turn(self, seen: Mapping[str, Status]) -> Mapping[str, Status]:
        """Do what is due and look around; the clients' statuses, the last known ones of those that pause."""
        self._look_at_programs()
        self._faults.apply_due()
        self._faults.look()
        self._faults.apply_due()
        self._faults.look_at_attacks()
        return {**seen, **self._nodes.client_statuses()}

    def _rest_s(self) -> float:
        """Look seldom while all is calm, often while the network finds its state, at once to make sure."""
        if self._faults.nearly:
            return POLL_S
        return self._nodes.rest_s(WORKLOAD_POLL_S if self._faults.tracker.converged else 0.0)

    def _done(self, seen: Mapping[str, Status], total: int) -> bool:
        """Whether the workload is over.

        Raises:
            NotReadyError: it takes too long.
        """
        now_ns, planned_ns = self._clock.now_ns(), self.start_ns + self._planned_ns()
        running = {*self._nodes.running}
        at_work = [n for n, s in seen.items() if n in running and s["core"]["script_remaining"]]
        scripts_over = not at_work and now_ns >= planned_ns
        programs_over = not self._nodes.programs.going or now_ns >= self.start_ns + self._plan.duration_ns
        faults_over = self._faults.tracker.over and not self._faults.attacking
        if scripts_over and programs_over and faults_over:
            if self._worked:
                return True
            self._worked = True
            self._faults.end_attacks()
            self._faults.ask_again()
        grace_ns = int(WORKLOAD_GRACE_S * NS) // self._clock.dilate
        if at_work and now_ns > planned_ns + grace_ns:
            done = done_actions(self._plan, seen)
            waiting = listed(at_work, _SHOWN, "; ")
            raise NotReadyError(
                f"the clients have done {done} of {total} actions, and their time is over ({waiting})"
            )
        timeout_ns = self._plan.timing.ready_timeout_ns
        tracker = self._faults.tracker
        if not tracker.converged and now_ns > max(planned_ns, tracker.since_ns) + timeout_ns:
            reasons = listed(self._faults.explain(), _SHOWN, "; ")
            raise NotReadyError(
                f"the network had not converged again {timeout_ns / NS:g} s after {tracker.since}: {reasons}"
            )
        return False

    def _planned_ns(self) -> int:
        """When the last thing that has a time is due, from the start."""
        faults = (fault.at_ns for fault in self._plan.faults if fault.after == "start")
        return max(script_length_ns(self._plan), *faults, 0)

    def _deadline(self, duration_ns: int) -> float:
        """When so much of the run's time will have passed, by `time.monotonic`."""
        return time.monotonic() + self._clock.real_wait_s(duration_ns)

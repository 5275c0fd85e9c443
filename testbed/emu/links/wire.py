"""Links by taps and one process that carries all of them: the run's side.

The process is `testbed.emu.links.wires`; what passes between is in `orders`.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from testbed.emu.commands import NetworkError
from testbed.emu.links.orders import Orders, TapOrder, WireOrder
from testbed.emu.links.site import End, Site
from testbed.emu.processes import Child, drop_empty_errors, start
from testbed.plan.model import Impairment, LinkPlan
from testbed.runs.fidelity import LinkMeasure

READY_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
SOURCE_ROOT = Path(__file__).resolve().parents[3]


class Wire:
    """See `testbed.emu.links.base.Links`."""

    name = "wire"

    def __init__(self, site: Site, links: Sequence[LinkPlan]) -> None:
        self._site = site
        self._links = links
        self._turn = threading.Lock()
        self.child: Child | None = None
        self.scheduling = ""
        """How the process runs, in its own words; known once built."""

    def build(self) -> None:
        """Start the process and wait until it has made all taps.

        Raises:
            NetworkError: it could not; the text has its own words.
        """
        path = self._site.config / "wires.json"
        path.write_text(self._orders().to_json(), encoding="utf-8")
        self.child = start(
            "the process that carries the links",
            [sys.executable, "-m", "testbed.emu.links.wires", str(path.resolve())],
            self._site.environment,
            self._site.logs / "wires.stderr",
            cwd=SOURCE_ROOT,
            pipes=True,
        )
        self.scheduling = str(self._answer("ready", READY_TIMEOUT_S))

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """Both ways change at once, between two frames."""
        self._ask({"do": "impair", "link": link.name, "impairment": asdict(impairment), "back": asdict(back)})

    def cut(self, link: LinkPlan) -> None:
        """Lose what is on its way, and what comes."""
        self._ask({"do": "cut", "link": link.name})

    def mend(self, link: LinkPlan) -> None:
        """Carry again."""
        self._ask({"do": "mend", "link": link.name})

    def count_lateness_anew(self) -> None:
        """What was late until now counts no more."""
        self._ask({"do": "count_lateness_anew"})

    def measures(self) -> list[LinkMeasure]:
        """What the process counted, and what the kernel could not hand to it."""
        return [LinkMeasure(**row) for row in self._ask({"do": "measures"})]

    def stop(self) -> list[str]:
        """End the process by ending its input; the taps go with their namespaces."""
        if self.child is None:
            return []
        process, child = self.child.process, self.child
        early = child.death()
        try:
            process.communicate(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return [f"{child.name} did not end within {STOP_TIMEOUT_S:.0f} s and was killed"]
        drop_empty_errors([child])
        if early is not None or process.returncode != 0:
            return [child.death() or ""]
        return []

    def _orders(self) -> Orders:
        wires = tuple(self._order(link, *self._site.ends(link)) for link in self._links)
        return Orders(seed=self._site.plan.seed, dilate=self._site.dilate, wires=wires)

    def _order(self, link: LinkPlan, a: End, b: End) -> WireOrder:
        from_a, from_b = (TapOrder(self._site.pid_of(e.node), e.name, e.interface.mac) for e in (a, b))
        return WireOrder(link.name, from_a, from_b, link.mtu, link.impairment, link.impairment_back)

    def _ask(self, command: dict[str, Any]) -> Any:
        """Have a command carried out; one at a time, whoever asks.

        Raises:
            NetworkError: it was not.
        """
        assert self.child is not None, "the wires are not built yet"
        assert self.child.process.stdin is not None
        with self._turn:
            try:
                self.child.process.stdin.write(json.dumps(command) + "\n")
                self.child.process.stdin.flush()
            except OSError:
                raise NetworkError(self._why_silent("takes no commands any more")) from None
            return self._answer("ok", ANSWER_TIMEOUT_S)

    def _answer(self, key: str, seconds: float) -> Any:
        assert self.child is not None
        assert self.child.process.stdout is not None
        stream, deadline = self.child.process.stdout, time.monotonic() + seconds
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise NetworkError(self._why_silent(f"did not answer within {seconds:.0f} s"))
        line = stream.readline()
        answer = json.loads(line) if line.strip() else {}
        if key in answer:
            return answer[key]
        raise NetworkError(answer.get("error") or self._why_silent("ended its output"))

    def _why_silent(self, what: str) -> str:
        assert self.child is not None
        try:
            self.child.process.wait(1.0)
        except subprocess.TimeoutExpired:
            return f"{self.child.name} {what}"
        return self.child.death() or what

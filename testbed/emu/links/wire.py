"""Links by taps and one process that carries all of them: the run's side.

The process is `testbed.emu.links.wire_process`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Self

from nodes.daemon.json_lines import RefusedError
from testbed.emu.children import Child, start_helper
from testbed.emu.links.cable import Cable, Tunnel
from testbed.emu.links.carried import Carried, Place
from testbed.emu.links.link import CbnLink
from testbed.emu.links.wire_process import Orders
from testbed.live.fabric import NetworkError, ProcessDiedError
from testbed.plan.model import Impairment
from testbed.runs.measures import LinkMeasure

READY_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0


class WireProcess:
    """The process that carries some wires.

    Raises:
        NetworkError: it could not make them; the text has its own words.
    """

    def __init__(self, cables: Sequence[Cable], place: Place, tunnels: Sequence[Tunnel] = ()) -> None:
        name = f"wires-{cables[0].name}" if len(cables) == 1 and not tunnels else "wires"
        path = place.config / f"{name}.json"
        path.write_text(self.orders(cables, place, tunnels).to_json(), encoding="utf-8")
        self._turn = threading.Lock()
        self.child: Child = start_helper(
            "the process that carries the links",
            "testbed.emu.links.wire_process",
            [str(path.resolve())],
            place.environment,
            place.logs / f"{name}.stderr",
        )
        try:
            self.scheduling = str(self.child.ready(READY_TIMEOUT_S))
            """How the process runs, in its own words."""
        except ProcessDiedError as error:
            self.stop()
            raise NetworkError(str(error)) from error

    @staticmethod
    def orders(cables: Sequence[Cable], place: Place, tunnels: Sequence[Tunnel] = ()) -> Orders:
        """What the process is to do."""
        return Orders(seed=place.seed, dilate=place.dilate, wires=tuple(cables), tunnels=tuple(tunnels))

    def ask(self, do: str, **arguments: object) -> Any:
        """Have something done; one thing at a time, whoever asks.

        Raises:
            NetworkError: it was not.
        """
        with self._turn:
            try:
                return self.child.ask(do, ANSWER_TIMEOUT_S, **arguments)
            except (RefusedError, ProcessDiedError) as error:
                raise NetworkError(str(error)) from error

    def stop(self) -> list[str]:
        """End the process by ending its input; the taps go with their namespaces."""
        return self.child.stop(STOP_TIMEOUT_S)


class Wire(Carried):
    """A link of taps, carried by a process that it may share with others."""

    carrier = "wire"
    process: WireProcess | None = None

    @property
    def name(self) -> str:
        """The link's, by which the process knows it."""
        return self.made()[0].name

    @classmethod
    def carry(cls, links: Sequence[Self], place: Place) -> None:
        """Start one process for all, and wait until it has made all taps."""
        carry_together([(link, link.made()[0]) for link in links], (), place)

    def impair(self, impairment: Impairment, back: Impairment) -> None:
        """Both ways change at once, between two frames."""
        self._ask("impair", impairment=asdict(impairment), back=asdict(back))

    def take_down(self) -> None:
        """Lose what is on its way, and what comes."""
        self._ask("take_down")

    def bring_up(self) -> None:
        """Carry again."""
        self._ask("bring_up")

    @classmethod
    def count_lateness_anew(cls, links: Sequence[Self]) -> None:
        """What was late until now counts no more."""
        for process in processes_of(links):
            process.ask("count_lateness_anew")

    @classmethod
    def measures(cls, links: Sequence[Self]) -> list[LinkMeasure]:
        """What the process counted, and what the kernel could not hand to it."""
        names = {link.name for link in links}
        rows = [row for process in processes_of(links) for row in process.ask("measures")]
        return [LinkMeasure(**row) for row in rows if row["link"] in names]

    def end(self) -> None:
        """The process is this link's own."""
        if self.process is not None:
            self.process.stop()

    def _ask(self, do: str, **arguments: object) -> None:
        assert self.process is not None, "the link is not made yet"
        self.process.ask(do, link=self.name, **arguments)


class TunnelEnd(Wire):
    """This machine's end of a link to another one, which a wire carries here."""

    carrier = "tunnel"

    def __init__(self, tunnel: Tunnel) -> None:
        self.tunnel = tunnel

    @property
    def name(self) -> str:
        """The link's."""
        return self.tunnel.name


class WireLink(Wire, CbnLink):
    """A wire in a Mininet."""


def carry_together(wires: Sequence[tuple[Wire, Cable]], ends: Sequence[TunnelEnd], place: Place) -> None:
    """Start one process for all of them, if there are any, and wait until it has made all taps.

    Raises:
        NetworkError: it could not.
    """
    for link, cable in wires:
        link.cable, link.place = cable, place
    if wires or ends:
        process = WireProcess([cable for _, cable in wires], place, [end.tunnel for end in ends])
        for each in (*(link for link, _ in wires), *ends):
            each.process = process


def processes_of(links: Iterable[Carried]) -> list[WireProcess]:
    """Those that carry some of these links."""
    wires = (link.process for link in links if isinstance(link, Wire))
    return list(dict.fromkeys(process for process in wires if process is not None))

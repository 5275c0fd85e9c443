"""The process that carries all wires of a run: `python -m testbed.emu.links.wire_process ORDERS.json`.

It makes a tap at each end of every wire that the file lists, and at this machine's end of
every link to another machine, reports that it is ready,
and carries frames (`fastpath.cable`) until the end of its standard input, which comes
also when the run's main process is gone. Meanwhile it does what it is asked there
(`nodes.daemon.json_lines`): {"do": "take_down", "link": "r1-r2"}. The run's side is `wire`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fastpath.cable import Cables
from nodes.daemon import kernel
from nodes.daemon.json_lines import Request, RequestError, done, refused, say, serve
from nodes.daemon.kernel import interface_counts
from nodes.records import from_plain, to_plain
from testbed.emu.links.cable import Cable, End, Tunnel
from testbed.emu.links.taps import open_tap
from testbed.emu.links.tunnel import ETHERNET_BYTES, open_tunnel, room
from testbed.plan.impairment import NOTHING
from testbed.plan.model import Impairment, link_seed
from testbed.runs.measures import LINK_COUNTERS, LinkMeasure

EXIT_ORDERS = 2
EXIT_LOOP = 3
FRAME_EXTRA_BYTES = 18
"""What a frame may have besides its MTU: the header and a VLAN tag."""
SPARE_DESCRIPTORS = 64
_LATE = ("late_p50_ns", "late_p99_ns", "late_max_ns")
MEMORY_BYTES = 512 << 20
"""For frames on their way; what does not fit is counted as an overrun."""
TAP_QUEUE_FRAMES = 10_000
"""How many frames wait in a tap for the process to take them."""
Wrong = (ValueError, TypeError, KeyError, OverflowError, OSError)


@dataclass(frozen=True, slots=True)
class Orders:
    """All that the process is to know at its start."""

    seed: int
    dilate: int
    wires: tuple[Cable, ...]
    tunnels: tuple[Tunnel, ...] = ()
    memory_bytes: int = MEMORY_BYTES
    tap_queue_frames: int = TAP_QUEUE_FRAMES

    def __post_init__(self) -> None:
        if not (self.wires or self.tunnels):
            raise ValueError("there are no wires in them")

    def to_json(self) -> str:
        """As `from_json` reads it."""
        return json.dumps(to_plain(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Orders:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else; the text says what.
        """
        try:
            return from_plain(cls, json.loads(text))
        except ValueError as error:
            raise ValueError(f"these are no orders for wires: {error}") from None


class Wires:
    """The wires, and the loop that carries them."""

    def __init__(self, orders: Orders) -> None:
        self._wires = orders.wires
        self._tunnels = {tunnel.name: tunnel for tunnel in orders.tunnels}
        links: list[Cable | Tunnel] = [*orders.wires, *orders.tunnels]
        self._numbers = {link.name: number for number, link in enumerate(links)}
        frame_bytes = max(link.mtu for link in links) + FRAME_EXTRA_BYTES
        self.cables = Cables(frame_bytes, orders.memory_bytes, orders.tap_queue_frames, orders.dilate)
        for number, wire in enumerate(orders.wires):
            a, b = (open_tap(end, wire.mtu, orders.tap_queue_frames) for end in (wire.a, wire.b))
            from_a, from_b = (link_seed(orders.seed, wire.name, end) for end in "ab")
            self.cables.join(a, b, (from_a, from_b))
            self.cables.impair(number, wire.impairment, wire.back)
        for number, tunnel in enumerate(orders.tunnels, len(orders.wires)):
            tap = open_tap(tunnel.end, tunnel.mtu, orders.tap_queue_frames)
            ends = "ab" if tunnel.is_a else "ba"
            own, other = (link_seed(orders.seed, tunnel.name, end) for end in ends)
            between = open_tunnel(tunnel)
            note_pieces(tunnel, room(between))
            self.cables.join(tap, between.detach(), (own, other))
            self.cables.impair(number, tunnel.impairment, NOTHING)
        self._loop = threading.Thread(target=self._carry, name="cables")
        self._begun = threading.Event()
        self._scheduling = ""

    def start(self) -> str:
        """Carry from now on; how the loop is scheduled."""
        self._loop.start()
        self._begun.wait()
        return self._scheduling

    def stop(self) -> None:
        """Carry nothing any more."""
        self.cables.stop()
        self._loop.join()

    def answer(self, request: Request) -> object:
        """Do what is asked for.

        Raises:
            RequestError: it cannot be done; nothing has changed.
        """
        try:
            return self._do(request)
        except Wrong as error:
            raise RequestError(str(error)) from error

    def _do(self, request: Mapping[str, Any]) -> object:
        match request:
            case {"do": "count_lateness_anew"}:
                self.cables.count_lateness_anew()
            case {"do": "measures"}:
                return self.measures()
            case {"do": "take_down", "link": str(name)}:
                self.cables.cut(self._number(name))
            case {"do": "bring_up", "link": str(name)}:
                self.cables.repair(self._number(name))
            case {"do": "impair", "link": str(name), "impairment": dict(there), "back": dict(back)}:
                self._impair(name, Impairment(**there), Impairment(**back))
            case _:
                known = (
                    "`measures` or `count_lateness_anew`, or `take_down`, `bring_up` or `impair` with a link"
                )
                raise ValueError(f"expected {known}")
        return None

    def _impair(self, name: str, there: Impairment, back: Impairment) -> None:
        tunnel = self._tunnels.get(name)
        if tunnel is not None:  # what enters at the other end is the other machine's to impair
            there, back = there if tunnel.is_a else back, NOTHING
        self.cables.impair(self._number(name), there, back)

    def measures(self) -> list[dict[str, Any]]:
        """Both ways of each wire, and what enters tunnels here, as the fields of a `LinkMeasure`."""
        ends = dict.fromkeys(end.pid for wire in self._wires for end in (wire.a, wire.b))
        ends |= dict.fromkeys(tunnel.end.pid for tunnel in self._tunnels.values())
        dropped: dict[str, int] = {}
        for pid in ends:
            counts = interface_counts(pid, f"the namespace of process {pid}")
            dropped |= {name: row["tx_dropped"] for name, row in counts.items()}
        found = [
            _measure(wire.name, end, counted, dropped[end.name])
            for number, wire in enumerate(self._wires)
            for end, counted in zip((wire.a, wire.b), self.cables.measures(number), strict=True)
        ]
        for name, tunnel in self._tunnels.items():
            counted, _ = self.cables.measures(self._number(name))
            found.append(_measure(name, tunnel.end, counted, dropped[tunnel.end.name]))
        return [asdict(each) for each in found]

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            raise ValueError(f"there is no wire {name}")
        return self._numbers[name]

    def _carry(self) -> None:
        self._scheduling = kernel.raise_priority()
        self._begun.set()
        try:
            self.cables.run()
        except OSError as error:
            print(f"the wires carry nothing any more: {error}", file=sys.stderr, flush=True)
            os._exit(EXIT_LOOP)


def main(arguments: Sequence[str]) -> int:
    """Carry until the input ends; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m testbed.emu.links.wire_process ORDERS.json", file=sys.stderr)
        return EXIT_ORDERS
    try:
        orders = Orders.from_json(Path(arguments[0]).read_text(encoding="utf-8"))
        allow_descriptors(2 * (len(orders.wires) + len(orders.tunnels)))
        wires = Wires(orders)
    except Wrong as error:
        say(refused(f"the wires cannot be made: {error}"))
        print(error, file=sys.stderr)
        return EXIT_ORDERS
    say(done(wires.start()))
    serve(wires.answer)
    wires.stop()
    return 0


def allow_descriptors(taps: int) -> None:
    """Let this process open as many files as the taps take.

    Raises:
        OSError: the machine's limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = taps + SPARE_DESCRIPTORS
    if soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise OSError(
                f"{taps} taps take {needed} open files, and the limit is {hard} (`ulimit -Hn {needed}`)"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def note_pieces(tunnel: Tunnel, whole: int) -> None:
    """Say in the log which frames cross the network between the machines in pieces."""
    if tunnel.mtu > whole:
        text = (
            f"{tunnel.name}: frames of more than {whole + ETHERNET_BYTES:,} bytes go to {tunnel.peer_address}"
        )
        text += f" in pieces; none do if the link has `mtu: {whole}`, or if the machines have a larger MTU"
        print(text, file=sys.stderr, flush=True)


def _measure(link: str, end: End, counted: Mapping[str, int], dropped: int) -> LinkMeasure:
    """`dropped` the kernel could not hand to us: it was sent all the same."""
    fields: dict[str, Any] = {name: counted[name] for name in LINK_COUNTERS}
    fields["frames"] += dropped
    fields["overruns"] += dropped
    if counted["measured"]:
        fields |= {name: counted[name] for name in _LATE}
    return LinkMeasure(link=link, source=end.name, backend="wire", **fields)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Links by veth pairs whose packets go through the kernel's netem, verified by reading it back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from testbed.emu.children import NetworkError, run_batch
from testbed.emu.links.cable import Cable, End
from testbed.emu.links.link import CbnLink, Place, counts_of, inside
from testbed.emu.links.tc import CUT, cannot, commands, verify
from testbed.emu.links.veth import make_pairs
from testbed.plan.model import Impairment
from testbed.runs.fidelity import LinkMeasure


class NetemLink(CbnLink):
    """A pair with disciplines at both ends; all goes when the namespaces go."""

    carrier = "netem"
    does: tuple[Impairment, Impairment] | None = None
    """What it does to packets, there and back."""

    @classmethod
    def carry(cls, links: Sequence[Self], place: Place) -> None:  # noqa: ARG003
        """Make the pairs and impair both ends of each."""
        make_pairs([link.made()[0] for link in links])
        for link in links:
            cable, _ = link.made()
            link.impair(cable.impairment, cable.back)

    def impair(self, impairment: Impairment, back: Impairment) -> None:
        """Change the disciplines in place: what waits in them stays.

        Raises:
            NetworkError: netem cannot do this, or not after what it does now.
        """
        cable, place = self.made()
        if too_much := cannot([*(self.does or ()), impairment, back]):
            raise NetworkError(
                f"link {cable.name}: netem cannot do {' and '.join(too_much)}: use `--links wire`"
            )
        self.does = impairment, back
        for end, does in zip((cable.a, cable.b), self.does, strict=True):
            what = f"link {cable.name}, {end.name}"
            _set(end, what, commands(end.name, does, cable.mtu, place.dilate))
            verify(what, does, _read_back(end, what), cable.mtu, place.dilate)

    def cut(self) -> None:
        """Put a discipline that loses everything in the place of the others, and with it what waits there."""
        cable, _ = self.made()
        for end in (cable.a, cable.b):
            _set(end, f"link {cable.name}, {end.name}", [CUT.format(end.name)])

    def repair(self) -> None:
        """Impair again as it was."""
        assert self.does is not None
        self.impair(*self.does)

    @classmethod
    def measures(cls, links: Sequence[Self]) -> list[LinkMeasure]:
        """What the kernel counted; netem does not tell a loss as asked from one of the queue."""
        cables = [link.made()[0] for link in links]
        counts = counts_of(cables)
        return [
            _measure(cable, source, counts[source.pid, source.name], counts[sink.pid, sink.name])
            for cable in cables
            for source, sink in ((cable.a, cable.b), (cable.b, cable.a))
        ]


def _measure(cable: Cable, source: End, sent: dict[str, int], received: dict[str, int]) -> LinkMeasure:
    rows = _read_back(source, f"link {cable.name}, {source.name}", "-s")
    lost = sum(int(row.get("drops", 0)) for row in rows if "root" in row)
    return LinkMeasure(
        link=cable.name,
        source=source.name,
        backend="netem",
        frames=sent["tx_packets"] + lost,
        bytes=sent["tx_bytes"],
        delivered=received["rx_packets"],
        lost=lost,
        overruns=received["rx_dropped"],
    )


def _set(end: End, what: str, lines: Sequence[str]) -> None:
    run_batch(what, [*inside(end), "tc", "-batch", "-"], lines)


def _read_back(end: End, what: str, *options: str) -> list[dict[str, Any]]:
    shown = run_batch(
        f"{what}: reading back",
        [*inside(end), "tc", *options, "-json", "qdisc", "show", "dev", end.name],
        [],
    )
    rows: list[dict[str, Any]] = json.loads(shown)
    return rows

"""Links by veth pairs whose packets go through the kernel's netem, verified by reading it back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from testbed.emu.children import run_batch
from testbed.emu.links.cable import Cable, End
from testbed.emu.links.carried import Place, inside
from testbed.emu.links.link import CbnLink
from testbed.emu.links.tc import DOWN, cannot, commands, verify
from testbed.emu.links.veth import Pair, make_pairs
from testbed.live.fabric import NetworkError
from testbed.plan.model import Impairment
from testbed.runs.measures import LinkMeasure


class Netem(Pair):
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

    def take_down(self) -> None:
        """Put a discipline that loses everything in the place of the others, and with it what waits there."""
        cable, _ = self.made()
        for end in (cable.a, cable.b):
            _set(end, f"link {cable.name}, {end.name}", [DOWN.format(end.name)])

    def bring_up(self) -> None:
        """Impair again as it was."""
        assert self.does is not None
        self.impair(*self.does)

    @classmethod
    def measure(
        cls, cable: Cable, source: End, sent: Mapping[str, int], received: Mapping[str, int]
    ) -> LinkMeasure:
        """Netem does not tell a loss as asked from one of the queue."""
        rows = _read_back(source, f"link {cable.name}, {source.name}", "-s")
        lost = sum(int(row.get("drops", 0)) for row in rows if "root" in row)
        frames, overruns = sent["tx_packets"] + lost, received["rx_dropped"]
        return replace(
            super().measure(cable, source, sent, received), frames=frames, lost=lost, overruns=overruns
        )


class NetemLink(Netem, CbnLink):
    """The same in a Mininet."""


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

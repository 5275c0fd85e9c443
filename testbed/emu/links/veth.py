"""Links that do nothing to packets: bare veth pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn, Self

from testbed.emu.children import run_batch
from testbed.emu.links.cable import Cable, End
from testbed.emu.links.carried import Carried, Place, counts_of
from testbed.emu.links.choice import does_something
from testbed.emu.links.link import CbnLink
from testbed.live.fabric import NetworkError
from testbed.plan.model import Impairment
from testbed.runs.measures import LinkMeasure


class Pair(Carried):
    """A veth pair, whatever is done to its packets: the kernel counts at both ends."""

    @classmethod
    def measures(cls, links: Sequence[Self]) -> list[LinkMeasure]:
        """What the kernel counted at the ends."""
        cables = [link.made()[0] for link in links]
        counts = counts_of(cables)
        return [
            cls.measure(cable, source, counts[source.pid, source.name], counts[sink.pid, sink.name])
            for cable in cables
            for source, sink in ((cable.a, cable.b), (cable.b, cable.a))
        ]

    @classmethod
    def measure(
        cls, cable: Cable, source: End, sent: Mapping[str, int], received: Mapping[str, int]
    ) -> LinkMeasure:
        """One direction, by what was counted at its two ends."""
        return LinkMeasure(
            link=cable.name,
            source=source.name,
            backend=cls.carrier,
            frames=sent["tx_packets"] + sent["tx_dropped"],
            bytes=sent["tx_bytes"],
            delivered=received["rx_packets"],
            overruns=sent["tx_dropped"] + received["rx_dropped"],
        )


class Veth(Pair):
    """A bare pair, which goes when the namespace of either end goes."""

    carrier = "veth"

    @classmethod
    def carry(cls, links: Sequence[Self], place: Place) -> None:  # noqa: ARG003
        """Make all pairs by one command."""
        cables = [link.made()[0] for link in links]
        for cable in cables:
            if any(does_something(way) for way in (cable.impairment, cable.back)):
                raise NetworkError(_BARE.format(cable.name))
        make_pairs(cables)

    def impair(self, impairment: Impairment, back: Impairment) -> None:  # noqa: ARG002
        """Refused: what may have to change is carried by something else (`choice`)."""
        self._refuse()

    def take_down(self) -> None:
        """Refused, as `impair` is."""
        self._refuse()

    def bring_up(self) -> None:
        """Refused, as `impair` is."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NetworkError(_FIXED.format(self.made()[0].name))


class VethLink(Veth, CbnLink):
    """The same in a Mininet."""


_FIXED = "link {} is a bare veth pair, which nothing can change while the run goes on"
_BARE = "link {} is to be a bare veth pair, and to do something to packets: use NetemLink or WireLink"


def make_pairs(cables: Sequence[Cable]) -> None:
    """Make veth pairs as planned, by one command.

    Raises:
        NetworkError: it failed.
    """
    if cables:
        run_batch("veth links", ["ip", "-batch", "-"], [_line(cable) for cable in cables])


def _line(cable: Cable) -> str:
    a, b = cable.a, cable.b
    return (
        f"link add name {a.name} address {a.mac} mtu {cable.mtu} netns {a.pid} type veth "
        f"peer name {b.name} address {b.mac} mtu {cable.mtu} netns {b.pid}"
    )

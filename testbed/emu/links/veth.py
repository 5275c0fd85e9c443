"""Links that do nothing to packets: bare veth pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.emu.commands import NetworkError, run_batch
from testbed.emu.links.site import End, Site
from testbed.plan.model import Impairment, LinkPlan
from testbed.runs.fidelity import LinkMeasure

Counts = Mapping[str, Mapping[str, int]]


class Veth:
    """See `testbed.emu.links.base.Links`."""

    name = "veth"

    def __init__(self, site: Site, links: Sequence[LinkPlan]) -> None:
        self._site = site
        self._links = links

    def build(self) -> None:
        """Make all pairs by one command."""
        make_pairs(self._site, self._links)

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:  # noqa: ARG002
        """Refused: what may have to change is carried by something else (`choice`)."""
        raise NetworkError(_FIXED.format(link.name))

    def cut(self, link: LinkPlan) -> None:
        """Refused, as `impair` is."""
        raise NetworkError(_FIXED.format(link.name))

    def mend(self, link: LinkPlan) -> None:
        """Refused, as `impair` is."""
        raise NetworkError(_FIXED.format(link.name))

    def count_lateness_anew(self) -> None:
        """Nothing: it is not known here."""

    def measures(self) -> list[LinkMeasure]:
        """What the kernel counted at the ends."""
        counts = self._site.counts(self._links)
        return [
            _measure(link, *ends, counts)
            for link in self._links
            for ends in (self._site.ends(link), self._site.ends(link)[::-1])
        ]

    def stop(self) -> list[str]:
        """Nothing: a pair goes when the namespace of either end goes."""
        return []


_FIXED = "link {} is a bare veth pair, which nothing can change while the run goes on"


def make_pairs(site: Site, links: Sequence[LinkPlan]) -> None:
    """Make veth pairs as planned, by one command.

    Raises:
        NetworkError: it failed.
    """
    run_batch("veth links", ["ip", "-batch", "-"], [_line(site, *site.ends(link)) for link in links])


def _line(site: Site, a: End, b: End) -> str:
    return (
        f"link add name {a.name} address {a.interface.mac} mtu {a.mtu} netns {site.pid_of(a.node)} type veth "
        f"peer name {b.name} address {b.interface.mac} mtu {b.mtu} netns {site.pid_of(b.node)}"
    )


def _measure(link: LinkPlan, source: End, sink: End, counts: Counts) -> LinkMeasure:
    sent, got = counts[source.name], counts[sink.name]
    return LinkMeasure(
        link=link.name,
        source=source.name,
        backend="veth",
        frames=sent["tx_packets"] + sent["tx_dropped"],
        bytes=sent["tx_bytes"],
        delivered=got["rx_packets"],
        overruns=sent["tx_dropped"] + got["rx_dropped"],
    )

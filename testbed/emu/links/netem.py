"""Links by veth pairs whose packets go through the kernel's netem, verified by reading it back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from testbed.emu.commands import NetworkError, run_batch
from testbed.emu.links.site import End, Site
from testbed.emu.links.tc import CUT, cannot, commands, verify
from testbed.emu.links.veth import make_pairs
from testbed.plan.model import Impairment, LinkPlan
from testbed.runs.fidelity import LinkMeasure

__all__ = ["Netem", "cannot", "kernel_lacks"]

PROBE_TIMEOUT_S = 10.0
PROBES = {"netem": "netem delay 1ms"}


def kernel_lacks(discipline: str) -> str | None:
    """Why this kernel cannot do a discipline, in tc's words; None if it can.

    Tried for real, on the loopback interface of a namespace that ends with the trial.
    """
    command = ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", *PROBES[discipline].split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    return (done.stderr.strip() or f"tc: exit status {done.returncode}") if done.returncode else None


class Netem:
    """See `testbed.emu.links.base.Links`."""

    name = "netem"

    def __init__(self, site: Site, links: Sequence[LinkPlan]) -> None:
        self._site = site
        self._links = links
        self._now: dict[str, tuple[Impairment, Impairment]] = {}
        """What each link does to packets, by its name."""

    def build(self) -> None:
        """Make the pairs and impair both ends of each."""
        make_pairs(self._site, self._links)
        for link in self._links:
            self.impair(link, link.impairment, link.impairment_back)

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """Change the disciplines in place: what waits in them stays.

        Raises:
            NetworkError: netem cannot do this, or not after what it does now.
        """
        before = self._now.get(link.name, ())
        if too_much := cannot([*before, impairment, back]):
            raise NetworkError(
                f"link {link.name}: netem cannot do {' and '.join(too_much)}: use `--links wire`"
            )
        self._now[link.name] = impairment, back
        for end, does in zip(self._site.ends(link), (impairment, back), strict=True):
            what = f"link {link.name}, {end.name}"
            self._tell(end, what, commands(end.name, does, link.mtu, self._site.dilate))
            verify(what, does, self._read_back(end, what), link.mtu, self._site.dilate)

    def cut(self, link: LinkPlan) -> None:
        """Put a discipline that loses everything in the place of the others, and with it what waits there."""
        for end in self._site.ends(link):
            self._tell(end, f"link {link.name}, {end.name}", [CUT.format(end.name)])

    def mend(self, link: LinkPlan) -> None:
        """Impair again as it was."""
        self.impair(link, *self._now[link.name])

    def count_lateness_anew(self) -> None:
        """Nothing: it is not known here."""

    def measures(self) -> list[LinkMeasure]:
        """What the kernel counted; netem does not tell a loss as asked from one of the queue."""
        counts = self._site.counts(self._links)
        found = []
        for link in self._links:
            ends = self._site.ends(link)
            for source, sink in (ends, ends[::-1]):
                rows = self._read_back(source, f"link {link.name}, {source.name}", "-s")
                lost = sum(int(row.get("drops", 0)) for row in rows if "root" in row)
                found.append(
                    LinkMeasure(
                        link=link.name,
                        source=source.name,
                        backend="netem",
                        frames=counts[source.name]["tx_packets"] + lost,
                        bytes=counts[source.name]["tx_bytes"],
                        delivered=counts[sink.name]["rx_packets"],
                        lost=lost,
                        overruns=counts[sink.name]["rx_dropped"],
                    )
                )
        return found

    def stop(self) -> list[str]:
        """Nothing: all goes when the namespaces go."""
        return []

    def _tell(self, end: End, what: str, lines: Sequence[str]) -> None:
        run_batch(what, [*self._site.inside(end.node), "tc", "-batch", "-"], lines)

    def _read_back(self, end: End, what: str, *options: str) -> list[dict[str, Any]]:
        shown = run_batch(
            f"{what}: reading back",
            [*self._site.inside(end.node), "tc", *options, "-json", "qdisc", "show", "dev", end.name],
            [],
        )
        rows: list[dict[str, Any]] = json.loads(shown)
        return rows

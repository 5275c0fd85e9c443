"""`background`: traffic that is not of the network's own, and takes time and room on links.

Traffic from one node to another goes over the links of the cheapest path between them. Each
link on it carries the whole rate, whatever the link before it has lost: what is asked for is a load.
Not here: how a world makes frames of it (`testbed.runs.background`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx

from testbed.plan.model import Flow, LinkPlan
from testbed.plan.moments import Times
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.quantities import duration_ns, rate_bps

FRAME_BYTES = 1_000
HEADER_BYTES = 14
FRAMES_MAX = 20_000_000
"""So many frames of background traffic a plan may have, all links together."""


def read_background(
    source: Source, data: Mapping[str, Any], links: Sequence[LinkPlan], times: Times, ends_ns: int
) -> tuple[Flow, ...]:
    """The scenario's background traffic, link by link; what is wrong with it is noted in the source.

    Args:
        source: The scenario.
        data: What of it has the right shape.
        links: Of the plan.
        times: The phases.
        ends_ns: When traffic without an end of its own ends.
    """
    reader = _Reader(source, links, times, ends_ns)
    given = enumerate(data.get("background") or [])
    flows = [flow for at, each in given if each for flow in reader.flows(each, ("background", at))]
    frames = sum(flow.frames for flow in flows)
    if frames > FRAMES_MAX:
        message = f"the background traffic has {frames:,} frames"
        source.complain(("background",), message, f"{FRAMES_MAX:,} in all")
        return ()
    return tuple(flows)


class _Reader:
    """Reads one entry after the other."""

    def __init__(self, source: Source, links: Sequence[LinkPlan], times: Times, ends_ns: int) -> None:
        self._source = source
        self._times = times
        self._ends_ns = ends_ns
        self._net: nx.Graph[str] = nx.Graph()
        for link in sorted(links, key=lambda link: -link.cost):  # of parallel links, the cheapest stays
            self._net.add_edge(link.a, link.b, weight=link.cost, link=link)

    def flows(self, given: Mapping[str, Any], key: Key) -> Iterator[Flow]:
        """What one entry comes down to: nothing, if it makes no sense."""
        if not {"from", "to", "rate"} <= given.keys() or not self._are_nodes(given, key):
            return
        at_ns = self._times.moment(given["at"], (*key, "at")) if "at" in given else 0
        lasts_ns = duration_ns(given["for"]) if "for" in given else self._ends_ns - at_ns
        if lasts_ns <= 0:
            why = "it would end as it begins" if "for" in given else "the clients' scripts are over by then"
            self._source.complain(
                key, f"{why}: there is nothing to send", "for: 10s, or an earlier beginning"
            )
            return
        path: list[str] = nx.shortest_path(self._net, str(given["from"]), str(given["to"]), weight="weight")
        ways = list(pairwise(path)) + (list(pairwise(path[::-1])) if given.get("both") else [])
        for a, b in ways:
            link: LinkPlan = self._net.edges[a, b]["link"]
            size = int(given.get("size", FRAME_BYTES))
            if size > link.mtu + HEADER_BYTES:
                what = f"frames of {size} bytes do not fit the link {link.name}, whose MTU is {link.mtu}"
                self._source.complain((*key, "size"), what, f"{link.mtu + HEADER_BYTES} bytes at most")
                return
            interface = link.a_interface if a == link.a else link.b_interface
            yield Flow(interface, at_ns, lasts_ns, rate_bps(given["rate"]), size)

    def _are_nodes(self, given: Mapping[str, Any], key: Key) -> bool:
        """Whether traffic can go from one to the other."""
        for end in ("from", "to"):
            if given[end] not in self._net:
                hint = did_you_mean(given[end], list(self._net))
                message = f"there is no node {given[end]} with a link"
                self._source.complain((*key, end), message, "a router or a client", hint)
                return False
        if given["from"] == given["to"]:
            self._source.complain((*key, "to"), f"{given['to']} would send to itself", "another node")
            return False
        return True

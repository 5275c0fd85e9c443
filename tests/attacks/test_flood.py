"""One neighbour floods a router over real sockets: what is taken of it, and what the others lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodes.config import LimitConfig, Neighbours
from tests.attacks.flooded import Flooded, flooded
from tests.attacks.flooder import Flood

FLOOD = Flood(filters=20_000, fragments_per_second=5_000, changes_per_second=20_000)
PACKETS, CHANGES = 500, 200
LIMITS = LimitConfig(control_packets_per_second=PACKETS, changes_per_second=CHANGES)
ENOUGH = 30_000
WITHIN_S = 60
SEALS = pytest.mark.parametrize("seals", [Neighbours.OFF, Neighbours.REQUIRED], ids=str)


def over_share(net: Flooded) -> dict[str, int]:
    """What the data plane of the router has dropped, by the neighbour."""
    interfaces = net.status()["interfaces"]
    assert isinstance(interfaces, list)
    peers = [each.peer_name for each in net.net.config("r1").interfaces]
    return {peer: row["over_share"] for peer, row in zip(peers, interfaces, strict=True)}


@SEALS
def test_a_flood_is_dropped_by_the_data_plane_and_costs_the_others_no_neighbour(
    tmp_path: Path, seals: Neighbours
) -> None:
    with flooded(tmp_path, FLOOD, LIMITS, seals) as net:
        net.flooder.begin()
        seen = net.watch(WITHIN_S, lambda said: said.offered >= ENOUGH)
        assert net.flooder.said.offered >= ENOUGH, f"only {seen.said} in {seen.seconds} s"
        assert seen.late_ns, "no message of the others has passed"
        spared = over_share(net)
        assert spared.pop("mallory") > seen.said.offered // 4
        assert set(spared.values()) == {0}
        assert net.refused()["over_share"] > seen.said.offered // 4
        assert seen.said.acknowledged <= PACKETS * (seen.seconds + 2)
        assert net.states() == dict.fromkeys(("r2", "mallory", "publisher", "subscriber"), "up")
        assert net.honest_down() == []

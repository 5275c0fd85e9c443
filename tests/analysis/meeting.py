"""A run under `amsp` in which links are marked anew: demand changes from one end of the network to the other.

    pub - a --- b --- c --- d - sub
                 \\
                  e - near

First `sub` changes all the time what it wants, then `pub` what it advertises. A link fails meanwhile.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
SECOND_MS, EVERY_MS = 1_000, 20


def scenario(scheme: str = "amsp") -> Row:
    """As a scenario's file has it."""
    options = {"interval_ms": 200, "alpha": 0.9} if scheme == "amsp" else {}
    return {
        "name": "meeting",
        "scheme": {"name": scheme, "advertisements": True, **options},
        "timing": {"settle": "300ms"},
        "topology": {
            "routers": ["a", "b", "c", "d", "e"],
            "links": ["a - b", "b - c", "c - d", "b - e"],
            "link_defaults": {"delay": "1ms"},
        },
        "clients": {
            "pub": {
                "at": "a",
                "advertise": ["n any integer", *_one_after_another(SECOND_MS)],
                "publish": [{"message": "n = 1", "every": "50ms", "count": 50}],
            },
            "sub": {"at": "d", "subscribe": ["n = 1", *_one_after_another(0)]},
            "near": {"at": "e", "subscribe": ["n >= 1"]},
        },
        "faults": [{"at": "2200ms", "link_down": "c - d", "for": "200ms"}],
    }


def _one_after_another(from_ms: int) -> list[Row]:
    return [
        {"predicate": f"unheard_of = {at}", "at": f"{at}ms", "until": f"{at + EVERY_MS}ms"}
        for at in range(from_ms, from_ms + SECOND_MS, EVERY_MS)
    ]

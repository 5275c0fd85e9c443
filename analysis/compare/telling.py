"""Deliveries of two runs in words, and what of them counts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analysis.compare.model import Limits
from analysis.compare.pairs import Client, Delivery, Messages
from analysis.compare.statistics import share_test


def told_messages(messages: Messages) -> list[str]:
    """What was not published in both, or not the same."""
    said = []
    for count, what in (
        (messages.gone, "published before alone"),
        (messages.new, "published after alone"),
        (messages.changed, "of the same publisher and number have another content"),
    ):
        if count:
            said.append(f"messages: {count:,} {what} (in both: {messages.both:,})")
    return said


def told_clients(clients: list[Client], limits: Limits, by_chance: bool) -> list[str]:
    """Who got what in one run alone; where chance decides, only what it does not explain."""
    said = []
    for client in clients:
        counts = [f"{n:,} {word}" for n, word in ((client.gone, "missing"), (client.new, "new")) if n]
        if counts and not (by_chance and _by_chance(client, limits)):
            said.append(f"deliveries to {client.name}: {', '.join(counts)} ({client.both:,} in both)")
        if client.other_hops > 0.01 * client.both:
            said.append(f"deliveries to {client.name}: {client.other_hops:,} over another number of hops")
    return said


def _by_chance(client: Client, limits: Limits) -> bool:
    """Whether as much may be missing in either run where links lose packets by plan."""
    owed = client.both + client.gone + client.new
    return share_test((client.new, owed), (client.gone, owed)) >= limits.p_value


def deliveries_plain(messages: Messages, clients: list[Client], examples: list[Delivery]) -> dict[str, Any]:
    """The deliveries' part of the JSON."""
    return {
        "messages": asdict(messages),
        "both": sum(c.both for c in clients),
        "gone": sum(c.gone for c in clients),
        "new": sum(c.new for c in clients),
        "clients": [asdict(c) for c in clients if c.gone or c.new or c.may_gone or c.may_new or c.other_hops],
        "examples": [asdict(e) for e in examples],
    }

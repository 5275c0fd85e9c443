"""The systemd unit of an agent, one a run: its name, and its socket's. The role `nodes` installs it."""

from __future__ import annotations

from pathlib import Path

ACCOUNT = "cbn"
"""Whom nodes run as; the role `base` makes it."""
LEASE_S = 10.0
"""An agent that its controller has not been heard by for so long takes its share away."""


def unit_of(run_id: str) -> str:
    """The unit of a run's agent."""
    return f"cbn-agent@{run_id}.service"


def socket_of(run_id: str) -> Path:
    """Where the agent of a run is asked; systemd makes the folder, and removes it with the unit."""
    return Path(f"/run/cbn-agent-{run_id}/agent.sock")

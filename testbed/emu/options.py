"""How a plan is to be emulated, beyond what the plan says; recorded in the manifest."""

from __future__ import annotations

from dataclasses import dataclass

LINK_CHOICES = ("auto", "netem", "wire")


@dataclass(frozen=True, slots=True)
class EmuOptions:
    """Options of one emulated run."""

    links: str = "auto"
    """What carries links that do something to packets; `auto`: netem if the kernel has it, else wire."""
    adjustable: bool = False
    """Whether every link must be able to change while the run goes on (`cbn up`): none is a bare veth."""
    dilate: int = 1
    """How many times slower than real time the run's time goes."""
    dilate_auto: bool = False
    """Whether a run that is degraded is done again slower (`testbed.emu.world`)."""

"""What is put to the test: every scheme as it is by default, and with options that must lose nothing either.

Not here: the modes `literal`, which do lose messages (E6; `tests/routing`).
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.routing.schemes import SCHEMES
from nodes.scheme_catalog import OptionValue

SOFT: Mapping[str, OptionValue] = {"state": "soft", "refresh_ms": 200, "lifetime_ms": 1_000}
EAGER: Mapping[str, OptionValue] = {"interval_ms": 100, "alpha": 0.5, "announce_deviations": 0.0}
"""What chance makes of rates is announced too, so that marks change often."""
OPTIONS: Mapping[str, tuple[str, Mapping[str, OptionValue]]] = {
    "flood/rpf": ("flood", {"broadcast": "reverse-path"}),
    "pif/rpf": ("pif", {"broadcast": "reverse-path"}),
    "siena/src": ("siena", {"tree": "source"}),
    "pif/adv": ("pif", {"advertisements": True}),
    "psf/adv": ("psf", {"advertisements": True}),
    "cbcb/adv": ("cbcb", {"advertisements": True}),
    "siena/adv": ("siena", {"advertisements": True}),
    "siena/src/adv": ("siena", {"tree": "source", "advertisements": True}),
    "amsp/adv": ("amsp", {"advertisements": True}),
    "amsp/quick": ("amsp", {"advertisements": True, **EAGER}),
    "amsp/p": ("amsp", {"advertisements": True, **EAGER, "marking": "p"}),
    "amsp/shared": ("amsp", {"advertisements": True, **EAGER, "tree": "shared"}),
    "amsp/soft": ("amsp", {**SOFT, "advertisements": True, **EAGER}),
    "bp/soft": ("bp", {**SOFT, "advertisements": True}),
    "bs/soft": ("bs", {**SOFT, "advertisements": True}),
    "bp/adv": ("bp", {"advertisements": True}),
    "bs/adv": ("bs", {"advertisements": True}),
    "bp/shared/adv": ("bp", {"tree": "shared", "advertisements": True}),
    "bs/shared/adv": ("bs", {"tree": "shared", "advertisements": True}),
    "pif/union": ("pif", {"advertisements": True, "patterns": "union"}),
    "siena/union": ("siena", {"advertisements": True, "patterns": "union"}),
    "pif/fac": ("pif", {"advertisements": True, "patterns": "factored"}),
    "psf/fac": ("psf", {"advertisements": True, "patterns": "factored"}),
    "cbcb/fac": ("cbcb", {"advertisements": True, "patterns": "factored"}),
    "siena/fac": ("siena", {"advertisements": True, "patterns": "factored"}),
    "siena/src/fac": ("siena", {"tree": "source", "advertisements": True, "patterns": "factored"}),
    "cbcb/ra": ("cbcb", {"ra_period_ms": 300}),
    "cbcb/sr": ("cbcb", {"sr_period_ms": 400, "sr_timeout_ms": 200}),
}
"""Variant -> scheme and options."""

VARIANTS: Mapping[str, tuple[str, Mapping[str, OptionValue]]] = {
    **{name: (name, {}) for name in sorted(SCHEMES)},
    **OPTIONS,
}


def seeks(variant: str) -> bool:
    """Whether its clients seek patterns; else they subscribe alone."""
    return "patterns" in VARIANTS[variant][1]

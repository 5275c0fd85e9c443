"""What is put to the test: every scheme as it is by default, and with options that must lose nothing either.

Not here: the modes `literal`, which do lose messages (E6; `tests/routing`).
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.routing.schemes import SCHEMES
from nodes.scheme_catalog import OptionValue

OPTIONS: Mapping[str, tuple[str, Mapping[str, OptionValue]]] = {
    "flood/rpf": ("flood", {"broadcast": "reverse-path"}),
    "pif/rpf": ("pif", {"broadcast": "reverse-path"}),
    "siena/src": ("siena", {"tree": "source"}),
    "pif/adv": ("pif", {"advertisements": True}),
    "psf/adv": ("psf", {"advertisements": True}),
    "cbcb/adv": ("cbcb", {"advertisements": True}),
    "siena/adv": ("siena", {"advertisements": True}),
    "siena/src/adv": ("siena", {"tree": "source", "advertisements": True}),
    "bp/adv": ("bp", {"advertisements": True}),
    "bs/adv": ("bs", {"advertisements": True}),
    "bp/shared/adv": ("bp", {"tree": "shared", "advertisements": True}),
    "bs/shared/adv": ("bs", {"tree": "shared", "advertisements": True}),
    "cbcb/ra": ("cbcb", {"ra_period_ms": 300}),
    "cbcb/sr": ("cbcb", {"sr_period_ms": 400, "sr_timeout_ms": 200}),
}
"""Variant -> scheme and options."""

VARIANTS: Mapping[str, tuple[str, Mapping[str, OptionValue]]] = {
    **{name: (name, {}) for name in sorted(SCHEMES)},
    **OPTIONS,
}

"""What commands offer about clusters without importing what does it."""

from __future__ import annotations

import os

BALANCED, CUT = "balanced", "cut"
RULES = (BALANCED, CUT)
"""`placement` says what each does."""

MACHINE, HOME = "machine", "home"
CAPTURES = (MACHINE, HOME)
"""Captures are decoded on the machine that made them, and rows come home; or they come home themselves."""

METAL = "metal"
LAB_VARIABLE = "CBN_LAB"


def lab_meant() -> str:
    """The lab of `cbn metal` that is meant where none is named."""
    return os.environ.get(LAB_VARIABLE) or METAL

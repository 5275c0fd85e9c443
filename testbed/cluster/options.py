"""What commands offer about clusters without importing what does it."""

BALANCED, CUT = "balanced", "cut"
RULES = (BALANCED, CUT)
"""`placement` says what each does."""

MACHINE, HOME = "machine", "home"
CAPTURES = (MACHINE, HOME)
"""Captures are decoded on the machine that made them, and rows come home; or they come home themselves."""

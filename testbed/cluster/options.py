"""How nodes may be placed: what commands offer without importing what places them."""

BALANCED, CUT = "balanced", "cut"
RULES = (BALANCED, CUT)
"""`placement` says what each does."""

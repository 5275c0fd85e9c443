"""How many cases tests of properties draw: a quarter in `make test`, all of them in `make test-draws`."""

import os

ALL = os.environ.get("CBN_TEST_DRAWS") == "all"
PARTS = 4


def draws(count: int) -> int:
    """So many cases, or a quarter of them."""
    return count if ALL else -(-count // PARTS)

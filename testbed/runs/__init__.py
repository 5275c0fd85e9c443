"""Run directories and the seam between `cbn run` and the worlds."""

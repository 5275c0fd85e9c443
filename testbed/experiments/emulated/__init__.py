"""Scenarios with a matrix, run by `cbn run`: whole networks beside each other (FWD 5.4)."""

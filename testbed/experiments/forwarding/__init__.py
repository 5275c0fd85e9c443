"""Forwarding tables by every algorithm, timed in turns (FWD 5)."""

"""The forwarding paper's experiments (FWD 5): tables by every algorithm, timed in turns."""

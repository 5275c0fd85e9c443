"""Plans experiments, runs them in one of three worlds, and keeps what they record."""

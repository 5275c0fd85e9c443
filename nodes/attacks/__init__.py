"""Attackers: what somebody on a link hears, repeats and invents, and compromised nodes."""

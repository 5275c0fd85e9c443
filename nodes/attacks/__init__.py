"""Attackers, sans-IO: what somebody on a link hears, repeats and invents. No honest node comes here."""

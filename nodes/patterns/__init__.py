"""Recognising patterns as messages arrive, sans-IO: at a client, its router, or within the network (M9)."""

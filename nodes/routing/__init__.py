"""Sans-IO protocols: adjacency, reliable channels, link state, interest, routing schemes.

`router.Router` is the core that all worlds run; `effects` is what it asks of
them; `docs/protocols.md` explains it. No sockets, clocks, logs or random source of its own.
"""

"""The shell of a node: sockets, timers, signals, logs. What a packet means is decided in `nodes.routing`."""

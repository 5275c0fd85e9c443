"""The emulated world: Mininet hosts, veth links, captures and node processes of one machine."""

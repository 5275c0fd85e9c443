"""The wire format: bytes to values and back, in `codec`."""

"""By how much the clocks of hosts are off and how fast they drift, from traffic in both directions."""

"""What advertisements save and cost, under several schemes, in the simulator (ADR 2.4.2, 3.5)."""

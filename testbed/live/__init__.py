"""What decides about a network that runs, whoever makes it: faults, stages, requests, who is there."""

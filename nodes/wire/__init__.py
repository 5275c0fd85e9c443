"""The wire format: packets as values, the codec nodes use, the Scapy layers that define it readably."""

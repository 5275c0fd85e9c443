"""Captures read, split, decoded and merged."""

from fastpath.pcap.pcap import *

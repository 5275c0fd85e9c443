"""Compiled kernels: codec, forwarding table and FIB, data plane, packet capture and pcap decoding.

Nothing here imports another room, decides policy or logs.
"""

"""Packet sockets into capture files."""

from fastpath.capture.capture import *

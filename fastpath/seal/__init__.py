"""Seals of datagrams with messages."""

from fastpath.seal.seal import *

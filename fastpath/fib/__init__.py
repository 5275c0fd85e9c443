"""Forwarding tables, FIBs, and the one way to forward."""

from fastpath.fib.fib import *

"""The router's socket loop."""

from fastpath.dataplane.dataplane import *

"""Filters and messages generated and read."""

from fastpath.workload.workload import *

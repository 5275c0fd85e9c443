"""Times matching engines over workloads."""

from fastpath.bench.bench import *

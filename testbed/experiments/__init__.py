"""The papers' own experiments: load one, measure it, compare with what was printed, draw it, write it up.

An experiment is a file in `topologies/experiments`: its tables, the figures the
paper printed, what to say where ours differ. Here is what carries it out, in this
process, on the compiled table. Not here: networks (`testbed/sim`, `testbed/emu`),
and benchmarks against targets (`cbn bench match`, docs/benchmarks.md).
"""

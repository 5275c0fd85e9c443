"""The papers' own experiments: load one, measure it, compare with what was printed, draw it, write it up.

An experiment is a file in `topologies/experiments`: what is varied, the figures the
paper printed, why ours differ where they do. A kind of experiments is a folder here
(`kind`): tables matched, predicates united, every scheme run in the simulator, all in
this process; only `emulated` starts others, runs of `cbn run`. Not here: benchmarks
against targets (`cbn bench match`, docs/benchmarks.md).
"""

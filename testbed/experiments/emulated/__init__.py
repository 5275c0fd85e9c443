"""Whole runs of scenarios beside each other, each made and analysed by `cbn run` in a process of its own."""

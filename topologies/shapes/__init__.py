"""The kinds of topologies that are made by rule: one module a family, and what each is told by."""

"""Graphs, scenarios and the schema they follow."""

"""Topologies that are made by rule: one module for each family, with its parameters."""

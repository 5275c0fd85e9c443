"""Scenarios become Plans here: loaded, checked, expanded; every world renders from the Plan alone.

The plan's dataclasses (`model`) and their file (`recorded`) can be imported without the loader (`load`).
"""

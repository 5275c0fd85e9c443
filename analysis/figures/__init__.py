"""Figures drawn by hand: SVG as text, axes and their ticks, numbers as people read them.

What to draw is for the rooms that know what they show (`analysis/report`,
`testbed/experiments`). Standard library alone.
"""

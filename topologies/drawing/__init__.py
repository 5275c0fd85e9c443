"""Drawings of maps as SVG: self-contained, and the same bytes for the same map.

`draw_svg` is the entry. `placing` computes where routers are, `labels` the places of
their labels, `links` the lines between them; `picture` writes the SVG.
"""

from topologies.drawing.picture import draw_svg

__all__ = ["draw_svg"]

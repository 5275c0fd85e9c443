"""Drawings of maps as SVG, self-contained and alike every time.

`draw_svg` is the door. Where routers stand: `placing` (with `projection` for
places on earth and `spring` for maps without any). What is written at them:
`labels`. What colour they have: `colours`. The text of the picture: `picture`.
"""

from topologies.drawing.picture import draw_svg

__all__ = ["draw_svg"]

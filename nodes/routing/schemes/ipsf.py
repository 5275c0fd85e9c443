"""iPSF: PSF with sources distinguished only where it matters (RTE 3.2, T3).

    v1 ~ v2 at u  iff  child_u(v1) = child_u(v2) and T_v1/w = T_v2/w for each child w
    Fwd_u(v, m)   = {w : m in F_u(I_u(v), w)}
    Hdr_u(v)      = u if R_u(I_u(v)) = 1, else v
    R_u(c) = 1    iff  v ~ u at every w below u in T_v, for every v of the class c (E12)

What arrives under a header h is from a source that is indistinguishable here
from h, and h is on the path it came by: the class of h is taken from the
neighbour towards h, goes by the table of h, and only headers that can arrive
have a class. On a tree these are the neighbours (and ourselves), as every
router rewrites.

While routers disagree about the network a rewritten header says less about
where a message has been than a source does; the hop limit bounds what that can
cost.
"""

from __future__ import annotations

from nodes.routing.schemes.base import FibSpec, Scheme, View
from nodes.routing.schemes.psf import source_tables


class Ipsf(Scheme):
    """Improved per-source forwarding."""

    def compile(self, view: View) -> FibSpec:
        """One class a header that can arrive, over the table of its equivalence class."""
        node, topology = view.node, view.topology
        may_rewrite = topology.rewrites(node)
        headers = set(topology.headers(node).values())
        return source_tables(view, {header: node if header in may_rewrite else header for header in headers})

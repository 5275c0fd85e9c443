"""The routing schemes by name. To add one: a module here, a line in `SCHEMES`, a line in the catalog."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.model import UsageError
from nodes.routing.schemes.base import Options, Scheme
from nodes.routing.schemes.cbcb import Cbcb
from nodes.routing.schemes.drp import Drp
from nodes.routing.schemes.flood import Flood
from nodes.routing.schemes.ipsf import Ipsf
from nodes.routing.schemes.multicast import Multicast
from nodes.routing.schemes.pif import Pif
from nodes.routing.schemes.psf import Psf
from nodes.routing.schemes.siena import Siena
from nodes.routing.schemes.unicast import Unicast
from nodes.scheme_catalog import complete, option_problem

SCHEMES: Mapping[str, type[Scheme]] = {
    scheme.name: scheme
    for scheme in (
        Drp,
        Cbcb,
        Flood,
        Ipsf,
        Multicast,
        Pif,
        Psf,
        Siena,
        Unicast,
    )
}


def make_scheme(name: str, options: Options) -> Scheme:
    """The scheme of a name, with the defaults of the options that are not given.

    Raises:
        UsageError: There is none, or it does not know an option or its value.
    """
    if name not in SCHEMES:
        raise UsageError(f"there is no routing scheme {name!r}; there are: {', '.join(sorted(SCHEMES))}")
    for option, value in options.items():
        if expected := option_problem(name, option, value):
            raise UsageError(f"scheme {name}, option {option} = {value!r}: expected {expected}")
    return SCHEMES[name](complete(name, options))

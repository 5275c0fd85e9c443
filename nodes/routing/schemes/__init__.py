"""The routing schemes by name. To add one: a module here and a line in `SCHEMES`."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.model import UsageError
from nodes.routing.schemes.base import Options, Scheme
from nodes.routing.schemes.pif import Pif

SCHEMES: Mapping[str, type[Scheme]] = {Pif.name: Pif}


def make_scheme(name: str, options: Options) -> Scheme:
    """The scheme of a name.

    Raises:
        UsageError: There is none, or it does not know an option.
    """
    if name not in SCHEMES:
        raise UsageError(f"there is no routing scheme {name!r}; there are: {', '.join(sorted(SCHEMES))}")
    return SCHEMES[name](options)

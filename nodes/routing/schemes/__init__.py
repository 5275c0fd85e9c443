"""The routing schemes, one module each, found by the catalog (`nodes.scheme_catalog`)."""

from __future__ import annotations

from importlib import import_module

from nodes.model import UsageError
from nodes.routing.schemes.base import Options, Scheme
from nodes.scheme_catalog import CATALOG, complete, lacking, option_problem


def _load(code: str) -> type[Scheme]:
    module, name = code.split(":")
    found: type[Scheme] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


SCHEMES = {name: _load(entry.code) for name, entry in CATALOG.items()}


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
    for option, expected in lacking(name, options).items():
        raise UsageError(f"scheme {name}, option {option} = {options[option]!r}: expected {expected}")
    return SCHEMES[name](complete(name, options))

"""Which form of the control plane runs: compiled, or interpreted (decision 34).

The modules that pyproject.toml lists under `tool.compiled` are run by Python as they are, or as mypyc
has compiled them, all or none. Where they were compiled, that is what runs, unless the environment's
`CBN_CONTROL_PLANE` asks for the other form. Python itself would go on importing what was compiled
after its source has changed; here this is an error.

Not here: how they are compiled (`setup.py`).
"""

from __future__ import annotations

import json
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import source_hash, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

VARIABLE = "CBN_CONTROL_PLANE"
COMPILED, INTERPRETED = "compiled", "interpreted"
FORMS = (COMPILED, INTERPRETED)
NODES = Path(__file__).parent
RECORD = NODES / "compiled.json"
"""Module -> the digest of the source that it was compiled from. Building writes it."""
LIBRARY = "compiled__mypyc"
_ROOMS = ("nodes", "testbed")


class CompiledError(ImportError):
    """The compiled form does not fit; the text says what to do."""


class _Sources(MetaPathFinder):
    """Finds modules of the project as source, also where they were compiled."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        room, _, rest = fullname.partition(".")
        if room not in _ROOMS or not rest or path is None:
            return None
        sources = (Path(folder, f"{fullname.rpartition('.')[2]}.py") for folder in path)
        found = next((source for source in sources if source.is_file()), None)
        return None if found is None else spec_from_file_location(fullname, found)


def choose() -> str:
    """Decide which form this process runs, before the first of the modules is imported.

    Raises:
        CompiledError: What was compiled is not of these sources, or not there and asked for.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked and asked not in FORMS:
        raise CompiledError(f"{VARIABLE} is {asked!r}; expected {' or '.join(FORMS)}", name=__name__)
    there = RECORD.is_file() and any((NODES / f"{LIBRARY}{end}").is_file() for end in EXTENSION_SUFFIXES)
    if asked == INTERPRETED or not there:
        if asked == COMPILED:
            raise CompiledError(
                f"{VARIABLE} asks for the compiled control plane, which was not built: run `make build`",
                name=__name__,
            )
        sys.meta_path.insert(0, _Sources())
        return INTERPRETED
    refuse_changed(json.loads(RECORD.read_bytes()))
    return COMPILED


def refuse_changed(made_from: dict[str, str]) -> None:
    """Fail if a source is not what was compiled.

    Raises:
        CompiledError: One is.
    """
    for module, digest in made_from.items():
        path = Path(*module.split(".")).with_suffix(".py")
        source = NODES.parent / path
        if not source.is_file() or source_hash(source.read_bytes()).hex() != digest:
            raise CompiledError(
                f"{path} was changed after it was compiled: "
                f"run `make build`, or set {VARIABLE}={INTERPRETED}",
                name=__name__,
            )


form = choose()
"""The form that runs in this process."""

"""One of `TARGETS` under Atheris, guided by what of the project is reached; the options are libFuzzer's.

python -m tests.fuzz.python_harness NAME [OPTION ...] FOLDER
"""

from __future__ import annotations

import sys

import atheris

import nodes  # noqa: F401  (how its modules are found is decided first, then who instruments them)

with atheris.instrument_imports(include=["nodes", "testbed.plan"], enable_loader_override=False):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

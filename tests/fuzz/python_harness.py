"""One of `TARGETS` under Atheris, guided by what of the project is reached; the options are libFuzzer's.

python -m tests.fuzz.python_harness PROGRAM NAME [OPTION ...] FOLDER

PROGRAM is a file that starts this with the same NAME: libFuzzer does so to find the least set of inputs.
"""

from __future__ import annotations

import sys

import atheris

import nodes  # noqa: F401  (how its modules are found is decided first, then who instruments them)

with atheris.instrument_imports(include=["nodes", "testbed.plan"], enable_loader_override=False):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    program, name, *options = sys.argv[1:]
    atheris.Setup([program, *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()

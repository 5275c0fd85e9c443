"""Builds the compiled extensions: kernels of the fast path (Cython, C++), and the control plane (mypyc).

Everything else stands in pyproject.toml.
"""

import json
import os
import re
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import source_hash
from io import StringIO
from pathlib import Path

from Cython.Build import cythonize
from mypyc.build import mypycify
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOM = Path("fastpath")
TOOLS = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]
CONTROL = [Path(*name.split(".")).with_suffix(".py") for name in TOOLS["compiled"]["modules"]]
"""The Python sources that are compiled, too: together, and as one name in CBN_EXT."""
CONTROL_NAME = "control"
LIBRARY, RECORD = "nodes.compiled", Path("nodes/compiled.json")
"""The one library they are in, and what each was compiled from, which `nodes.compiled` looks at."""
TYPING = ["--config-file=", "--strict", "--ignore-missing-imports", "--follow-imports=silent"]
TYPING += ["--python-version=3.11", "--cache-dir=build/mypy"]
OPENSSL = ROOM / "seal" / "mac.hpp"
"""The one header that calls OpenSSL."""
STRICT = ["-std=c++20", "-O3", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
# Generated code and Python's headers are not ours to fix: silence only what Cython's own output trips.
GENERATED = ["-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]
USED = re.compile(r'^(?:#include|cdef extern from) "([\w/]+\.hpp)"|^from ([\w.]+) cimport', re.MULTILINE)


def module(source: Path) -> str:
    """The Python name of what a source file is compiled to."""
    return ".".join(source.with_suffix("").parts)


def used(source: Path, known: set[Path]) -> set[Path]:
    """The headers and declarations of this room that a file stands on, through any number of others."""
    known.add(source)
    for header, name in USED.findall(source.read_text(encoding="utf-8")):
        path = ROOM / header if header else Path(*name.split(".")).with_suffix(".pxd")
        package = path.with_suffix("") / "__init__.pxd"
        for found in (path, package):
            if found.is_file() and found not in known:
                used(found, known)
    return known


def extension(source: Path, sanitize: bool) -> Extension:
    """One extension module a .pyx file."""
    flags, link = [*STRICT, *GENERATED], ["-pthread"]
    if sanitize:
        checks = [
            "-fsanitize=address,undefined",
            "-fno-omit-frame-pointer",
            "-fno-sanitize-recover=undefined",
        ]
        flags, link = [*flags, "-Og", "-g1", *checks], [*link, *checks]
    declared = set(source.parent.glob(f"{source.stem}.pxd"))
    depends = set.union(*(used(p, set()) for p in {source, *declared}))
    return Extension(
        module(source),
        [str(source)],
        language="c++",
        include_dirs=[str(ROOM)],
        depends=sorted(map(str, depends - {source})),
        extra_compile_args=[*flags, "-pthread"],
        extra_link_args=link,
        libraries=["crypto"] if OPENSSL in depends else [],
    )


def chosen() -> list[Path]:
    """All kernels, or those named in CBN_EXT: `codec fib` for a quick rebuild of two, `none` for none."""
    sources = sorted(ROOM.rglob("*.pyx"))
    names = os.environ.get("CBN_EXT", "").split()
    return [s for s in sources if not names or s.stem in names]


def kernels() -> list[Extension]:
    """Those of the fast path."""
    return cythonize(
        [extension(s, bool(os.environ.get("CBN_SANITIZE"))) for s in chosen()],
        compiler_directives={"language_level": 3, "embedsignature": True, "freethreading_compatible": False},
        nthreads=0,
    )


def with_control() -> bool:
    """Whether the control plane is compiled; not for sanitizers, which look at memory managed by hand."""
    names = os.environ.get("CBN_EXT", "").split()
    return not os.environ.get("CBN_SANITIZE") and (not names or CONTROL_NAME in names)


def control() -> list[Extension]:
    """The control plane, as mypyc makes it of the sources as they are."""
    if not with_control():
        return []
    said = StringIO()  # a note on each generator that becomes a list, and errors
    try:
        with redirect_stdout(said), redirect_stderr(said):
            return mypycify([*TYPING, *map(str, CONTROL)], group_name=LIBRARY)
    except SystemExit:
        sys.stderr.write(said.getvalue())
        raise


def remove_what_no_source_stands_for() -> None:
    """A compiled module that was renamed or moved must not stay importable under its old name."""
    for made in [*ROOM.rglob("*.so"), *ROOM.rglob("*.cpp")]:
        if not (made.parent / made.name.split(".")[0]).with_suffix(".pyx").is_file():
            made.unlink()
    library = Path(*LIBRARY.split(".")).name
    for made in [*Path("nodes").rglob("*.so"), *Path("testbed").rglob("*.so")]:
        name = made.name.split(".")[0]
        if made.parent / f"{name}.py" not in CONTROL and not name.startswith(library):
            made.unlink()


class Build(build_ext):
    """Compiles, then notes what the compiled control plane was made of."""

    def run(self) -> None:
        """As setuptools says."""
        super().run()
        if with_control():
            folder = Path() if self.inplace else Path(self.build_lib)
            made = {module(source): source_hash(source.read_bytes()).hex() for source in CONTROL}
            (folder / RECORD).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


remove_what_no_source_stands_for()
setup(ext_modules=[*kernels(), *control()], cmdclass={"build_ext": Build})

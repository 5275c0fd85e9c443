"""Builds the compiled extensions; everything else stands in pyproject.toml."""

import os
import re
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOM = Path("fastpath")
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
        flags, link = [*flags, "-O1", "-g", *checks], [*link, *checks]
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
    )


def chosen() -> list[Path]:
    """All extensions, or those named in CBN_EXT: `codec fib` for a quick rebuild of two, `none` for none."""
    sources = sorted(ROOM.rglob("*.pyx"))
    names = os.environ.get("CBN_EXT", "").split()
    return [s for s in sources if not names or s.stem in names]


def remove_what_no_source_stands_for() -> None:
    """A compiled module that was renamed or moved must not stay importable under its old name."""
    for made in [*ROOM.rglob("*.so"), *ROOM.rglob("*.cpp")]:
        if not (made.parent / made.name.split(".")[0]).with_suffix(".pyx").is_file():
            made.unlink()


remove_what_no_source_stands_for()
setup(
    ext_modules=cythonize(
        [extension(s, bool(os.environ.get("CBN_SANITIZE"))) for s in chosen()],
        compiler_directives={"language_level": 3, "embedsignature": True, "freethreading_compatible": False},
        nthreads=0,
    )
)

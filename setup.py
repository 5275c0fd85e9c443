"""Builds the compiled extensions; everything else stands in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

STRICT = ["-std=c++20", "-O3", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
# Generated code and Python's headers are not ours to fix: silence only what Cython's own output trips.
GENERATED = ["-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]


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
    return Extension(
        f"fastpath.{source.stem}",
        [str(source)],
        language="c++",
        include_dirs=["fastpath"],
        depends=[str(p) for p in sorted(Path("fastpath").glob("*.hpp"))],
        extra_compile_args=[*flags, "-pthread"],
        extra_link_args=link,
    )


def chosen() -> list[Path]:
    """All extensions, or those named in CBN_EXT: `codec fib` for a quick rebuild of two, `none` for none."""
    sources = sorted(Path("fastpath").glob("*.pyx"))
    names = os.environ.get("CBN_EXT", "").split()
    return [s for s in sources if not names or s.stem in names]


setup(
    ext_modules=cythonize(
        [extension(s, bool(os.environ.get("CBN_SANITIZE"))) for s in chosen()],
        compiler_directives={"language_level": 3, "embedsignature": True, "freethreading_compatible": False},
        nthreads=0,
    )
)

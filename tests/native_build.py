"""Compiles C++ harnesses over the kernels' headers, with the sanitizers on, for tests that run them.

The extensions themselves are built by the package build; this is for plain
programs, in which a sanitizer sees the kernel alone and no Python.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]


def compile_sanitized(
    source: Path,
    folder: Path,
    *options: str,
    sanitizers: Sequence[str] = SANITIZERS,
    libraries: Sequence[str] = (),
) -> Path:
    """Compile one C++20 source against `fastpath/*.hpp`, under ASan and UBSan if not told otherwise."""
    compiler = shutil.which("g++")
    assert compiler, "g++ is missing; `make test` installs it (see packages.apt)"
    program, compiled = folder / source.stem, folder / f"{source.stem}.o"
    flags = [
        "-std=c++20",
        "-Og",
        "-g1",
        *WARNINGS,
        *sanitizers,
        f"-I{ROOT / 'fastpath'}",
        *options,
        "-pthread",
    ]
    # In two steps: ccache, where it is in front of g++, keeps what was compiled, not what was linked.
    linked = [f"-l{name}" for name in libraries]
    for step in (["-c", str(source), "-o", str(compiled)], [str(compiled), "-o", str(program), *linked]):
        done = subprocess.run([compiler, *flags, *step], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{source.name} does not compile:\n{done.stderr}"
    return program


def run_sanitized(program: Path, *arguments: str, seconds: int = 240) -> str:
    """Run a program; what it printed. A sanitizer's finding fails the test with its report."""
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout

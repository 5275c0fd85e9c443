"""What all tests share: requirement checks by marker, seeds, and the account of what could not run."""

from __future__ import annotations

import fcntl
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = {"emu": 240, "spark": 360, "cluster": 360, "vm": 900, "browser": 240}
"""Time limits of tests that start more than Python; the others have `timeout` of pyproject.toml."""
COMPILING_SECONDS = 360
"""The limit of tests in files called `test_sanitized_*`, which compile C++: minutes on a busy machine."""

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile(
    "sanitize", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


NOT_ROOT = "not root: run `sudo make test`"


def no_mininet() -> str | None:
    """Why Mininet hosts cannot be made here, if so."""
    missing = [c for c in ("mnexec", "ip", "ethtool") if shutil.which(c) is None]
    if missing:
        return f"missing commands: {', '.join(missing)}; see packages.apt"
    if os.geteuid() != 0:
        return NOT_ROOT
    done = subprocess.run(["mnexec", "-n", "true"], capture_output=True, text=True, check=False)
    return f"no network namespaces: {done.stderr.strip()}" if done.returncode else None


def no_java() -> str | None:
    """Why Spark cannot start here, if so."""
    if shutil.which("java") is None:
        return "no Java: install openjdk-17-jre-headless"
    reported = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', reported)
    return (
        None
        if version and int(version[1]) >= 17
        else f"Java 17 is needed, this is {reported.splitlines()[:1]}"
    )


def no_nspawn() -> str | None:
    """Why cluster machines cannot be booted here, if so."""
    from testbed.cluster.metal.programs import machine_problems

    if os.geteuid() != 0:
        return NOT_ROOT
    problems = machine_problems()
    return f"no machines can be booted: {'; '.join(problems)}" if problems else None


def no_browser() -> str | None:
    """Why pages cannot be tried in a browser here, if so."""
    from tests.browser import installed

    return None if installed() else "no Chromium: install chromium (packages-test.apt)"


REQUIREMENTS: dict[str, Callable[[], str | None]] = {
    "emu": cache(no_mininet),
    "spark": cache(no_java),
    "cluster": cache(no_nspawn),
    "browser": cache(no_browser),
}


def pytest_configure() -> None:
    """Be interruptible: `nohup` and background jobs ignore signals, and children inherit that."""
    for number, action in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test its time limit, and skip, with the reason, what this machine cannot run."""
    for item in items:
        marks = [m for m in SECONDS if item.get_closest_marker(m)]
        compiles = item.path.name.startswith("test_sanitized_")
        limits = [SECONDS[m] for m in marks] + [COMPILING_SECONDS] * compiles
        if limits and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(max(limits)))
        for reason in filter(None, (REQUIREMENTS[m]() for m in marks if m in REQUIREMENTS)):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what did not run and why, just above the last line."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        reasons[report.longrepr[2].removeprefix("Skipped: ")].append(report.nodeid)
    if not reasons:
        return
    terminalreporter.section("NOT RUN ON THIS MACHINE", sep="!", yellow=True, bold=True)
    for reason, tests in sorted(reasons.items()):
        rooms = sorted({str(Path(t.partition("::")[0]).parent) for t in tests})
        terminalreporter.line(f"{len(tests):4} tests: {reason} ({', '.join(rooms)})", yellow=True)


@contextmanager
def _turn(name: str) -> Iterator[None]:
    lock = Path(tempfile.gettempdir()) / f"cbn-testbed-{name}.lock"
    if not lock.exists():
        lock.touch()
    # For reading: others may have made it, and a lock asks for no more.
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@pytest.fixture
def taking_turns() -> Callable[[str], AbstractContextManager[None]]:
    """`with taking_turns("something"):` is held by one test of the machine at a time, whoever runs it."""
    return _turn


@pytest.fixture
def sole_cleaner(taking_turns: Callable[[str], AbstractContextManager[None]]) -> Iterator[None]:
    """`clean` is for the whole machine: tests that call it, or leave it something to find, take turns."""
    with taking_turns("clean"):
        yield


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> Iterator[int]:
    """A seed for this test: CBN_TEST_SEED, or one of its own; printed when the test fails."""
    chosen = int(os.environ.get("CBN_TEST_SEED") or random.SystemRandom().randrange(2**32))
    yield chosen
    report = request.node.stash.get(FAILED, None)
    if report:
        print(f"replay: CBN_TEST_SEED={chosen} .venv/bin/python -m pytest '{request.node.nodeid}'")


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """The test's own random source, drawn from its seed."""
    return random.Random(f"{seed}/{request.node.name}")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The Spark session that all tests of a process share; commands called in it use it as well."""
    from analysis.session import start_session

    session = start_session(captured_bytes=0)
    yield session
    session.stop()


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[pytest.TestReport]:
    """Let fixtures know, at their end, whether the test failed."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report

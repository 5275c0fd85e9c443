"""`make check` leaves out the tests that nothing has changed for, and no other."""

from __future__ import annotations

from tests.unchanged import dependencies, digests

TREE = {
    "nodes/config.py": "from nodes.model import Value",
    "nodes/model/values.py": "",
    "nodes/routing/link.py": "import nodes.model.values\ndef f():\n    from fastpath.fib import Fib",
    "fastpath/fib/fib.hpp": "",
    "fastpath/__init__.py": "",
    "testbed/sim/world.py": "from nodes.routing import link",
    "docs/page.md": "",
    "tests/helper.py": "",
    "tests/native_build.py": "import subprocess",
    "tests/fastpath/test_sanitized.py": "from tests.native_build import compile_sanitized",
    "tests/starter.py": "import subprocess",
    "tests/sim/between.py": "from tests.starter import start",
    "tests/sim/test_started.py": "from tests.sim import between",
    "tests/frame/test_tree.py": "",
    "tests/model/test_values.py": "from nodes.model import values",
    "tests/routing/test_link.py": "from nodes.routing.link import f",
    "tests/sim/test_world.py": "from testbed.sim.world import World",
    "tests/cli/conftest.py": "import subprocess",
    "tests/cli/test_run.py": "def test_run(cbn): ...",
}
WHOLE = {"tests/cli/test_run.py", "tests/sim/test_started.py", "tests/frame/test_tree.py"}
TESTS = {path for path in TREE if "/test_" in path}


def changed_by(path: str) -> set[str]:
    before, after = digests(TREE), digests({**TREE, path: TREE[path] + "\n# changed"})
    return {test for test in TESTS if before[test] != after[test]}


def test_a_room_reaches_what_it_imports_directly_or_within_functions_or_through_others() -> None:
    found = dependencies(TREE)
    assert found["nodes/routing"] == {"nodes/routing", "nodes/model", "fastpath"}
    assert found["testbed/sim"] == {"testbed/sim", *found["nodes/routing"]}
    assert found["nodes/model"] == {"nodes/model"}


def test_a_change_is_seen_by_the_tests_of_all_rooms_that_build_on_it() -> None:
    assert changed_by("nodes/model/values.py") == TESTS - {"tests/fastpath/test_sanitized.py"}
    assert changed_by("fastpath/fib/fib.hpp") == TESTS - {"tests/model/test_values.py"}
    assert changed_by("testbed/sim/world.py") == {"tests/sim/test_world.py", *WHOLE}


def test_a_test_file_concerns_itself_and_what_the_tests_share_concerns_all() -> None:
    assert changed_by("tests/sim/test_world.py") == {"tests/sim/test_world.py", "tests/frame/test_tree.py"}
    assert changed_by("tests/helper.py") == TESTS


def test_what_starts_processes_depends_on_all_rooms_and_what_reads_the_tree_on_everything() -> None:
    assert changed_by("testbed/sim/world.py") >= WHOLE
    assert changed_by("docs/page.md") == {"tests/frame/test_tree.py"}


def test_programs_compiled_over_the_kernels_headers_depend_on_the_fast_path_alone() -> None:
    sanitized = "tests/fastpath/test_sanitized.py"
    assert sanitized in changed_by("fastpath/fib/fib.hpp")
    assert sanitized in changed_by("tests/native_build.py")
    assert sanitized not in changed_by("testbed/sim/world.py")

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
    "tests/native_build.py": "import sys\nsys.executable",
    "tests/fastpath/test_sanitized.py": "from tests.native_build import compile_sanitized",
    "tests/starter.py": "import sys\nsys.executable",
    "tests/sim/between.py": "from tests.starter import start",
    "tests/sim/test_started.py": "from tests.sim import between",
    "tests/frame/test_tree.py": "",
    "tests/model/test_values.py": "from nodes.model import values",
    "tests/routing/test_link.py": "from nodes.routing.link import f",
    "tests/sim/test_world.py": "from testbed.sim.world import World",
    "tests/sim/test_named.py": "import sys\nrun = [sys.executable, '-m', 'nodes.model.values']",
    "tests/sim/test_program.py": "import sys\nrun = [sys.executable, '-c', 'import nodes.model']",
    "tests/sim/test_telling.py": '"""See docs/page.md."""',
    "tests/sim/test_reading.py": "PAGE = 'docs/page.md'",
    "tests/cli/conftest.py": "import sys\nsys.executable",
    "tests/cli/test_run.py": "def test_run(cbn): ...",
}
WHOLE = {
    "tests/cli/test_run.py",
    "tests/sim/test_started.py",
    "tests/frame/test_tree.py",
    "tests/sim/test_reading.py",
}
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
    untouched = {"tests/fastpath/test_sanitized.py", "tests/sim/test_telling.py"}
    assert changed_by("nodes/model/values.py") == TESTS - untouched
    of_the_model = {"tests/model/test_values.py", "tests/sim/test_named.py", "tests/sim/test_program.py"}
    assert changed_by("fastpath/fib/fib.hpp") == TESTS - of_the_model - {"tests/sim/test_telling.py"}
    assert changed_by("testbed/sim/world.py") == {"tests/sim/test_world.py", *WHOLE}


def test_a_test_file_concerns_itself_and_what_the_tests_share_concerns_all() -> None:
    readers = {"tests/frame/test_tree.py", "tests/sim/test_reading.py"}
    assert changed_by("tests/sim/test_world.py") == {"tests/sim/test_world.py", *readers}
    assert changed_by("tests/helper.py") == TESTS


def test_what_starts_python_depends_on_what_it_names_or_on_all_rooms() -> None:
    changed = changed_by("testbed/sim/world.py")
    assert changed >= WHOLE
    assert not changed & {"tests/sim/test_named.py", "tests/sim/test_program.py"}
    assert changed_by("nodes/model/values.py") >= {"tests/sim/test_named.py", "tests/sim/test_program.py"}


def test_a_room_reaches_the_modules_that_it_starts() -> None:
    found = dependencies({**TREE, "testbed/emu/nodes.py": "START = ['-m', 'nodes.routing.link']"})
    assert found["testbed/emu"] == {"testbed/emu", *found["nodes/routing"]}


def test_what_reads_the_tree_depends_on_everything_and_what_only_mentions_a_page_does_not() -> None:
    assert changed_by("docs/page.md") == {"tests/frame/test_tree.py", "tests/sim/test_reading.py"}


def test_programs_compiled_over_the_kernels_headers_depend_on_the_fast_path_alone() -> None:
    sanitized = "tests/fastpath/test_sanitized.py"
    assert sanitized in changed_by("fastpath/fib/fib.hpp")
    assert sanitized in changed_by("tests/native_build.py")
    assert sanitized not in changed_by("testbed/sim/world.py")

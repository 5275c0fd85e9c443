"""The table of fault kinds, and what is made from it.

After a change of the table: CBN_WRITE_GOLDENS=1 python -m pytest tests/plan/test_fault_kinds.py
"""

from __future__ import annotations

import os

import pytest

from tests.plan.fault_tables import REFERENCE, reference_text, schema_text
from topologies.fault_kinds import APPLIED, KINDS, Failures
from topologies.library import SCHEMA


@pytest.mark.parametrize(("path", "written"), [(SCHEMA, schema_text), (REFERENCE, reference_text)])
def test_the_schema_and_the_reference_are_what_the_table_makes_of_them(path, written):
    text = path.read_text(encoding="utf-8")
    if os.environ.get("CBN_WRITE_GOLDENS"):
        path.write_text(written(text), encoding="utf-8")
        return
    assert written(text) == text, "see this file's docstring"


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_what_a_kind_names_is_in_the_table(kind):
    others = (kind.repaired_by, kind.applied_as, *kind.not_while, *kind.replaces)
    assert {name for name in others if name} <= KINDS.keys()
    assert not kind.applied_as or kind.control == ""
    if kind.repaired_by:
        assert len(kind.state.split()) == 2, "`is down`, `has crashed`"
        assert KINDS[kind.repaired_by].repairs is kind


@pytest.mark.parametrize("kind", [KINDS[name] for name in APPLIED if KINDS[name].repaired_by], ids=str)
def test_a_failure_lasts_until_it_is_repaired(kind):
    failures = Failures()
    repair = KINDS[kind.repaired_by]
    assert failures.obstacle(kind.name, "x") is None
    assert failures.obstacle(repair.name, "x") is kind
    failures.note(kind.name, "x", since=7)
    assert dict(failures.of("x")) == {kind.name: 7}
    assert failures.stopped() == (["x"] if kind.effect else [])
    assert failures.obstacle(kind.name, "x") is (kind if kind.name in kind.not_while else None)
    failures.note(repair.name, "x")
    assert not failures.of("x")
    assert failures.stopped() == []


def test_a_paused_router_that_crashes_is_crashed_alone():
    failures = Failures()
    failures.note("pause", "r1")
    failures.note("crash", "r1")
    assert [*failures.of("r1")] == ["crash"]
    assert failures.obstacle("resume", "r1") is KINDS["pause"]
    assert failures.obstacle("pause", "r1") is KINDS["crash"]

"""What is said before anything starts."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from typing import Any

import pytest

from testbed.emu import preflight
from testbed.plan.model import Fault, Impairment


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    problems = preflight.machine_problems()
    assert any("`mnexec` is missing: `apt install mininet`" in problem for problem in problems)
    assert all("--world sim" in problem for problem in problems)


def test_without_root_it_says_so_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (problem,) = preflight.machine_problems()
    assert "needs root" in problem


def test_a_plan_that_takes_more_files_than_the_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch, bed: Any
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 100))
    plan = bed.plan()
    assert preflight.descriptors_needed(plan) > 100
    problems = preflight.plan_problems(plan)
    assert any("the limit is 100: raise it (`ulimit -Hn" in problem for problem in problems)


def test_the_soft_limit_is_raised_as_far_as_needed_and_allowed(
    monkeypatch: pytest.MonkeyPatch, bed: Any
) -> None:
    plan, told = bed.plan(), []
    needed = preflight.descriptors_needed(plan)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits))
    for soft, hard in ((10, needed + 5), (10, resource.RLIM_INFINITY), (needed, needed + 5), (10, 50)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, now=(soft, hard): now)
        preflight.raise_descriptor_limit(plan)
    assert told == [(needed, needed + 5), (needed, resource.RLIM_INFINITY), (50, 50)]


def test_what_only_the_simulator_does_is_refused_with_its_name(bed: Any) -> None:
    plan = bed.plan()
    bad = Impairment(1_000_000, duplicate=0.1, corrupt=0.1)
    links = (replace(plan.links[0], impairment=bad, back=Impairment()), *plan.links[1:])
    problems = preflight.plan_problems(replace(plan, links=links, faults=(Fault(0, "crash", "r1"),)))
    assert any("duplication and corruption and another impairment on the way back" in p for p in problems)
    assert any("crash r1" in p for p in problems)
    assert all("--world sim" in p for p in problems)

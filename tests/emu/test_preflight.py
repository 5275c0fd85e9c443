"""What is said before anything starts."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.emu import preflight
from testbed.emu.links.choice import carriers, link_problems
from testbed.emu.options import EmuOptions
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
    plan, reported = bed.plan(), []
    needed = preflight.descriptors_needed(plan)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: reported.append(limits))
    for soft, hard in ((10, needed + 5), (10, resource.RLIM_INFINITY), (needed, needed + 5), (10, 50)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, now=(soft, hard): now)
        preflight.raise_descriptor_limit(plan)
    assert reported == [(needed, needed + 5), (needed, resource.RLIM_INFINITY), (50, 50)]


def test_what_netem_cannot_do_is_refused_with_its_name_where_netem_is_asked_for(bed: Any) -> None:
    plan = bed.plan()
    bad = Impairment(1_000_000, rate_bps=10**6, queue_bytes=5000, duplicate=0.1)
    plan = replace(plan, links=(replace(plan.links[0], impairment=bad, back=Impairment()), *plan.links[1:]))
    (problem,) = link_problems(plan, EmuOptions(links="netem"), lambda _: None)
    assert (
        "a limit of the queue in bytes and duplication on a link with a rate, which netem cannot" in problem
    )
    assert "--world sim" in problem
    assert link_problems(plan, EmuOptions(), lambda _: None) == []


def test_without_tun_links_that_need_it_are_named_with_a_way_out(bed: Any) -> None:
    def closed(_: Path) -> str:
        return "Operation not permitted"

    plan = bed.plan(first_link="{between: [r1, r2], delay: 5ms}")
    (problem,) = link_problems(plan, EmuOptions(), lambda _: "no netem", closed)
    assert "r1--r2" in problem
    assert "/dev/net/tun cannot be opened (Operation not permitted)" in problem
    assert "--world sim" in problem
    assert link_problems(bed.plan(), EmuOptions(), lambda _: "no netem", closed) == []


def test_a_link_is_bare_unless_something_may_happen_to_it(bed: Any) -> None:
    plan = bed.plan(first_link="{between: [r1, r2], delay: 5ms}")
    plan = replace(plan, faults=(Fault(0, "link_down", "r2--r3"), Fault(0, "crash", "r1")))

    def lacks(_: str) -> str:
        return "no netem"

    chosen = carriers(plan, EmuOptions(), lacks)
    assert [chosen[link.name] for link in plan.links[:3]] == ["wire", "wire", "veth"]
    assert {*carriers(plan, EmuOptions(adjustable=True), lacks).values()} == {"wire"}
    assert carriers(plan, EmuOptions(), lambda _: None)["r1--r2"] == "netem"
    assert carriers(plan, EmuOptions(links="wire"), lambda _: None)["r1--r2"] == "wire"

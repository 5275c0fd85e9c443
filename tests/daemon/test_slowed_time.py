"""Slowed time in a node process: its clock, its loop, its account of lateness."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.config import MOST_DILATE, NodeConfig
from nodes.config_file import ConfigError, dump_config, load_config
from nodes.daemon.clock import NS, Clock
from nodes.daemon.lateness import SMALLEST_NS, Lateness, class_of, quantile_ns, since, upper_ns
from nodes.daemon.loop import Loop
from nodes.wire.packets import Role

CONFIG = NodeConfig("a", 1, Role.CLIENT, "run", 1, ())


@pytest.mark.parametrize("dilate", [1, 2, 7, MOST_DILATE])
def test_a_slowed_clock_shows_the_share_of_real_time_that_has_passed(dilate: int) -> None:
    """Bracketed by two real readings on either side, so that it holds however late this process is."""
    began_ns = time.time_ns()
    clock = Clock(dilate, began_ns)
    before_ns = time.time_ns()
    shown_ns = clock.now_ns()
    after_ns = time.time_ns()
    slack_ns = 1_000_000  # a clock of the machine may be adjusted a little between two readings
    assert (before_ns - began_ns - slack_ns) // dilate <= shown_ns - began_ns
    assert shown_ns - began_ns <= (after_ns - began_ns + slack_ns) // dilate + 1


def test_two_clocks_with_the_same_settings_agree_although_made_at_different_times() -> None:
    from_ns = time.time_ns() - 3600 * NS
    first, second = Clock(10, from_ns), Clock(10, from_ns)
    a, b, c = first.now_ns(), second.now_ns(), first.now_ns()
    assert a - 100_000 <= b <= c + 100_000


def test_a_slowed_clock_never_goes_backwards() -> None:
    clock = Clock(3, time.time_ns())
    times = [clock.now_ns() for _ in range(1000)]
    assert times == sorted(times)


def test_a_slowed_loop_waits_as_many_times_longer_in_real_time() -> None:
    clock = Clock(5, time.time_ns())
    loop, due = Loop(clock), clock.now_ns() + 2_000_000
    began_ns = time.monotonic_ns()

    def tick() -> int | None:
        if clock.now_ns() < due:
            return due
        loop.stop()
        return None

    loop.run(tick)
    loop.close()
    assert time.monotonic_ns() - began_ns >= 9_500_000
    assert sum(loop.lateness.status().values()) >= 1


def test_what_is_not_slowed_waits_as_long_as_asked() -> None:
    assert Clock().real_wait_s(1_500_000) == 0.0015
    assert Clock(4, 0).real_wait_s(1_500_000) == 0.006


@given(st.integers(0, 10**12))
def test_a_lateness_lies_in_its_class_and_the_class_is_narrow(late_ns: int) -> None:
    number = class_of(late_ns)
    assert late_ns < upper_ns(number)
    if late_ns >= SMALLEST_NS:
        assert upper_ns(number - 1) <= late_ns
        assert upper_ns(number) <= 1.25 * upper_ns(number - 1)


@given(st.lists(st.integers(0, 10**10), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_at_most_a_class_above_the_true_one(values: list[int], share: float) -> None:
    counted = Lateness()
    for value in values:
        counted.add(value)
    found = quantile_ns(counted.status(), share)
    assert found is not None
    assert sum(value < found for value in values) >= share * len(values)
    assert max(SMALLEST_NS, 1.25 * max(values)) >= found


@given(st.lists(st.integers(0, 10**8)), st.lists(st.integers(0, 10**8)))
def test_what_was_counted_between_two_statuses_is_their_difference(
    before: list[int], after: list[int]
) -> None:
    counted, alone = Lateness(), Lateness()
    for value in before:
        counted.add(value)
    earlier = counted.status()
    for value in after:
        counted.add(value)
        alone.add(value)
    assert {k: v for k, v in since(counted.status(), earlier).items() if v} == alone.status()


def test_a_node_that_was_started_anew_counts_from_its_start() -> None:
    assert since({"3": 2}, {"3": 5}) == {"3": 2}
    assert since({"4": 2}, {"3": 5}) == {"4": 2}


def test_nothing_counted_has_no_quantile() -> None:
    assert quantile_ns({}, 0.5) is None
    assert quantile_ns({"3": 0}, 0.5) is None


@pytest.mark.parametrize("dilate", [0, -1, MOST_DILATE + 1])
def test_a_node_refuses_a_slowing_that_cannot_be(dilate: int, tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(dump_config(replace(CONFIG, dilate=dilate)))
    with pytest.raises(ConfigError, match="dilate: expected 1 to"):
        load_config(path)

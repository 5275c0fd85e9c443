"""A plan that a run recorded reads back as the plan it was; anything else is refused, with a reason."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.plan.load import load_plan, plan_of
from testbed.plan.model import Expectation, Fault, Impairment, Phase, Plan
from testbed.plan.recorded import (
    FORMAT,
    RecordedRunError,
    plan_digest,
    plan_from_json,
    plan_to_json,
    read_manifest,
    read_plan,
)

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "topologies" / "scenarios").glob("*.yaml"))
NETWORK = {
    "name": "kept",
    "topology": {"routers": ["r1", "r2"], "links": ["r1 - r2"]},
    "clients": {
        "a": {
            "at": "r1",
            "publish": [{"every": "1ms", "count": 3, "from": "0s", "message": {"n": {"count": 1}}}],
        },
        "b": {"at": "r2", "subscribe": ["n > 1"]},
    },
}

share = st.floats(0, 1)
nanoseconds = st.integers(0, 10**12)
impairments = st.builds(
    Impairment,
    delay_ns=st.none() | nanoseconds,
    jitter_ns=nanoseconds,
    jitter_shape=st.sampled_from(("uniform", "normal", "pareto")),
    jitter_correlation=share,
    loss=share,
    rate_bps=st.none() | st.integers(1, 10**11),
    loss_burst=st.none() | st.floats(1, 1e6),
    duplicate=share,
    reorder=share,
    corrupt=share,
    queue_packets=st.none() | nanoseconds,
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    plan = plan_of(NETWORK)
    link = replace(plan.links[0], impairment=draw(impairments), back=draw(st.none() | impairments))
    faults = st.builds(
        Fault,
        nanoseconds,
        st.just("impair"),
        st.just(link.name),
        st.sampled_from(("start", "converged")),
        impairments,
        st.none() | impairments,
    )
    return replace(
        plan,
        description=draw(texts),
        seed=draw(st.integers(0, 2**63 - 1)),
        links=(link, *plan.links[1:]),
        faults=tuple(draw(st.lists(faults, max_size=3))),
        phases=tuple(draw(st.lists(st.builds(Phase, texts, nanoseconds, nanoseconds), max_size=2))),
        expect=tuple(
            draw(
                st.lists(
                    st.builds(Expectation, texts, texts, st.just("<"), st.floats(allow_nan=False)), max_size=2
                )
            )
        ),
        overrides=draw(st.dictionaries(texts, texts, max_size=3)),
    )


def recorded(directory: Path, text: str | bytes) -> Plan:
    """What is read of a `plan.json` with this text, which the run itself recorded."""
    (directory / "plan.json").write_bytes(text.encode() if isinstance(text, str) else text)
    return read_plan(directory, {"plan_sha256": plan_digest(text)})


@settings(max_examples=25, deadline=None)
@given(plans())
def test_every_plan_reads_back_as_it_was(tmp_path_factory, plan: Plan) -> None:
    assert plan_from_json(plan_to_json(plan)) == plan
    assert recorded(tmp_path_factory.mktemp("run"), plan_to_json(plan)) == plan


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_the_plans_of_the_shipped_scenarios_read_back(tmp_path, path: Path) -> None:
    plan = load_plan(path)
    assert recorded(tmp_path, plan_to_json(plan)) == plan


def test_a_plan_has_a_line_for_each_node_and_link() -> None:
    lines = plan_to_json(plan_of(NETWORK)).splitlines()
    for beginning in ('  {"name": "r1", "node_id": 1', '  {"name": "r1--r2", "a": "r1"', ' "seed": 1,'):
        assert any(line.startswith(beginning) for line in lines), beginning


def test_a_plan_is_only_what_its_run_recorded(tmp_path) -> None:
    text = plan_to_json(plan_of(NETWORK))
    recorded(tmp_path, text)
    for changed in (text.replace('"seed": 1', '"seed": 2'), text + " ", text[:-9], "", b"\xff\xfe"):
        (tmp_path / "plan.json").write_bytes(changed.encode() if isinstance(changed, str) else changed)
        with pytest.raises(RecordedRunError, match=r"plan\.json: it was changed or damaged .* --set"):
            read_plan(tmp_path, {"plan_sha256": plan_digest(text)})
        with pytest.raises(RecordedRunError, match="it was changed or damaged"):
            read_plan(tmp_path, {})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"seed": 1', '"seed": "one"', r"seed: expected int, found 'one'"),
        ('"seed": 1', '"sead": 1', r"sead: unknown key"),
        ('"hop_limit": 64', '"hop_limit": true', r"hop_limit: expected int"),
        (r'"nodes": \[', '"nodes": [[], ', r"nodes\[0\]: expected a table of keys"),
        ('"role": "router"', '"role": "king"', r"nodes\[0\]\.role: expected router or client"),
        ('"name": "kept"', '"name": "../../etc"', r"'\.\./\.\./etc' cannot be part of a file's name"),
        ('"name": "r1-eth0"', '"name": "/r1-eth0"', r"'/r1-eth0' cannot be part of a file's name"),
        ('"format": "pcap"', '"format": "/pcap"', r"'/pcap' cannot be part of a file's name"),
        (r"(?s).*", "", r"not a plan of this version"),
        (r"(?s).*", "[]", r"the whole: expected a table of keys"),
        (r"(?s).*", "[" * 100_000, r"not a plan of this version"),
        (r"(?s).*", "\"\ud800\"", r"the whole: expected a table of keys"),
        (r"(?s)$", "}", r"not a plan of this version \(Extra data"),
    ],
)  # fmt: skip
def test_what_no_run_of_this_version_records_is_refused(tmp_path, old, new, expected) -> None:
    text = plan_to_json(plan_of(NETWORK))
    assert re.search(old, text), f"{old} is not in the plan"
    with pytest.raises(RecordedRunError, match=expected) as caught:
        recorded(tmp_path, re.sub(old, lambda _found: new, text, count=1).encode(errors="surrogatepass"))
    assert str(tmp_path / "plan.json") in str(caught.value)


def test_a_plan_of_a_size_that_no_run_writes_is_not_read_to_its_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("testbed.plan.recorded.BYTES_MAX", 1 << 20)
    with pytest.raises(RecordedRunError, match="it has more than 1 MiB"):
        recorded(tmp_path, " " * (1 << 20) + "{}")


@pytest.mark.parametrize("name", ["manifest.json", "plan.json"])
def test_files_that_are_missing_or_no_files_are_named(tmp_path, name) -> None:
    manifest = {"run_id": "x", "world": "sim", "outcome": "complete", "start_ns": 1, "end_ns": 2, "dilate": 1}
    text = plan_to_json(plan_of(NETWORK))
    (tmp_path / "manifest.json").write_text(
        json.dumps({**manifest, "format": FORMAT, "plan_sha256": plan_digest(text)})
    )
    assert recorded(tmp_path, text) == read_plan(tmp_path, read_manifest(tmp_path))
    (tmp_path / name).unlink()
    with pytest.raises(RecordedRunError, match=name):
        read_plan(tmp_path, read_manifest(tmp_path))
    (tmp_path / name).mkdir()
    with pytest.raises(RecordedRunError, match=rf"{name}: Is a directory"):
        read_plan(tmp_path, read_manifest(tmp_path))


def test_readers_of_runs_do_not_load_the_loader() -> None:
    code = (
        "import sys, testbed.plan.recorded, analysis.rundir\n"
        "print(*(n for n in sys.modules if n.startswith('testbed.') or n in ('jsonschema', 'ruamel.yaml')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"testbed.plan", "testbed.plan.model", "testbed.plan.recorded"}

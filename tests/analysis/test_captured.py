"""Captures without a run: where messages went and how long they took, and what is not known."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis import AnalysisError
from analysis.captured import files_of, read_captures
from analysis.distribution import Distribution
from analysis.host_clocks import Times, Windows
from analysis.numbered_tasks import in_threads
from analysis.steps import Places, router_of, spans, take_steps
from tests.fastpath.captures import ACK, frame, message, pcap

START_NS = 1_000_000_000_000
LINK_NS, ROUTER_NS, LATER_NS = 700, 300, 50_000


def link(number: int, back: bool = False) -> dict[str, str]:
    """Addresses of the frames on a link."""
    ends = [f"02:00:00:00:{number:02x}:{end:02x}" for end in (1, 2)]
    return dict(zip(("source", "target"), reversed(ends) if back else ends, strict=True))


class Network:
    """r1 - r2 - r3 in a line, captured at every interface; a publisher at r1, a subscriber at r3.

    p -0- r1 -1- r2 -2- r3 -3- s
    """

    passed = ("r1-eth0", "r1-eth1", "r2-eth0", "r2-eth1", "r3-eth0", "r3-eth1")

    def __init__(self, folder: Path, names: dict[str, str] | None = None) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.names = names or {}
        self.records: dict[str, list[tuple[int, int, bytes]]] = {name: [] for name in self.passed}
        self.fast: dict[str, int] = {}
        """By interface, how far its clock is ahead."""

    def publish(self, sequence: int, at_ns: int, last: int = 6, **more: object) -> None:
        """A message passes the interfaces, up to the last of them."""
        time_ns = START_NS + at_ns
        for place, name in enumerate(self.passed[:last]):
            time_ns += LINK_NS if place % 2 == 0 else ROUTER_NS
            hops = (place + 1) // 2
            data = message(sequence, hop_count=hops, publish_time_ns=START_NS + at_ns, **more)
            stamp = time_ns + self.fast.get(name, 0)
            self.records[name].append((*divmod(stamp, 10**9), frame(data, **link((place + 1) // 2))))

    def write(self) -> list[Path]:
        paths = []
        for name, records in self.records.items():
            path = self.folder / f"{self.names.get(name, name)}.pcap"
            path.write_bytes(pcap(records))
            paths.append(path)
        return paths

    def read(self, out: Path | None = None, paths: list[Path] | None = None, split_bytes: int = 1 << 26):
        return read_captures(files_of(paths or self.write()), out, in_threads(2), 2, split_bytes)


@pytest.fixture
def network(tmp_path):
    return Network(tmp_path / "captures")


def steps(document):
    return {
        (s["from"], s["to"]): (s["over"], s["messages"], s["min_ns"], s["max_ns"]) for s in document["steps"]
    }


def test_a_message_is_followed_over_links_and_through_routers(network, tmp_path):
    for n in range(100):
        network.publish(n, n * LATER_NS)
    document = network.read(tmp_path / "out")
    assert steps(document) == {
        ("r1-eth0", "r1-eth1"): ("router", 100, ROUTER_NS, ROUTER_NS),
        ("r1-eth1", "r2-eth0"): ("link", 100, LINK_NS, LINK_NS),
        ("r2-eth0", "r2-eth1"): ("router", 100, ROUTER_NS, ROUTER_NS),
        ("r2-eth1", "r3-eth0"): ("link", 100, LINK_NS, LINK_NS),
        ("r3-eth0", "r3-eth1"): ("router", 100, ROUTER_NS, ROUTER_NS),
    }
    assert document["publishers"] == [{"publisher": 7, "messages": 100, "seen_with_hop_count_0": 100}]
    rows = pq.read_table(tmp_path / "out" / "steps.parquet").to_pylist()
    assert len(rows) == 500
    first = [row for row in rows if row["sequence"] == 0 and row["from_interface"] == "r1-eth1"]
    assert first == [
        {
            "source": 7,
            "sequence": 0,
            "publish_time_ns": START_NS,
            "from_interface": "r1-eth1",
            "to_interface": "r2-eth0",
            "over": "link",
            "hop_count": 1,
            "latency_ns": LINK_NS,
        }
    ]


def test_the_age_of_messages_is_known_at_every_capture(network):
    network.publish(1, 0)
    ages = {c["interface"]: c["since_publication"]["max_ns"] for c in network.read()["captures"]}
    assert ages["r1-eth0"] == LINK_NS
    assert ages["r3-eth1"] == 3 * (LINK_NS + ROUTER_NS)


def test_a_copy_that_went_elsewhere_is_no_step(network):
    """r2 sends to r3 and nowhere else: a sighting at r1 with the hop count of r2 is not from r2."""
    network.publish(1, 0)
    assert ("r1-eth1", "r2-eth1") not in steps(network.read())


def test_names_that_do_not_say_the_router_leave_only_steps_that_can_be_told(network):
    network.names = {"r2-eth0": "left", "r2-eth1": "right"}
    for n in range(10):
        network.publish(n, n * LATER_NS)
    document = network.read()
    # Between r1-eth1 and `left` is a link; what goes on to `right` can have come from its far end alone.
    assert steps(document)["r1-eth1", "left"] == ("link", 10, LINK_NS, LINK_NS)
    assert steps(document)["left", "right"] == ("router", 10, ROUTER_NS, ROUTER_NS)
    assert any(text.startswith("the router of left, right") for text in document["unknown"])


def test_a_message_that_may_have_come_from_two_places_is_counted_and_not_guessed(tmp_path):
    """Copies leave over a and b; c is seen later, with no name that says of which router it is."""
    records = {"a": (1, 0), "b": (1, 1), "c": (2, 2)}
    paths = []
    for name, (hops, number) in records.items():
        paths.append(tmp_path / f"{name}.pcap")
        paths[-1].write_bytes(pcap([(1, number, frame(message(1, hop_count=hops), **link(number)))]))
    document = read_captures(files_of(paths), None, in_threads(1), 1)
    assert document["steps"] == []
    assert document["ambiguous_steps"] == 1
    assert any("1 sighting came from" in text for text in document["unknown"])


def test_clocks_that_differ_are_told_and_do_not_turn_a_step_round(network):
    network.fast = {"r2-eth0": -5_000_000, "r2-eth1": -5_000_000}
    for n in range(10):
        network.publish(n, n * LATER_NS)
    document = network.read()
    assert steps(document)["r1-eth1", "r2-eth0"][2] == LINK_NS - 5_000_000
    assert any(
        text.startswith("r1-eth1 to r2-eth0: messages arrive up to 5.0 ms before")
        for text in document["problems"]
    )


def test_a_clock_that_is_set_back_is_a_problem(network):
    for n in range(10):
        network.publish(n, n * LATER_NS)
    network.fast = {"r2-eth0": -(10**9)}
    network.publish(10, 10 * LATER_NS)
    assert any(
        text.startswith("r2-eth0: its clock was set back, by 1.000 s") for text in network.read()["problems"]
    )


def test_captures_of_two_runs_are_told(network):
    network.publish(1, 0)
    network.publish(1, 10**12, attributes={"a": 2})
    document = network.read()
    assert document["messages"] == 2
    assert steps(document)["r1-eth0", "r1-eth1"] == ("router", 2, ROUTER_NS, ROUTER_NS)
    assert any("captures of several runs" in text for text in document["problems"])


def test_a_capture_named_twice_or_copied_is_read_once(network):
    network.publish(1, 0)
    paths = network.write()
    copy = network.folder / "copy.pcap"
    copy.write_bytes(paths[0].read_bytes())
    document = network.read(paths=[*paths, paths[1], copy])
    assert document["packets"] == 6
    assert len(document["notes"]) == 2
    assert all("it was left out" in note for note in document["notes"])


def test_files_that_continue_a_capture_have_its_name_and_folders_tell_equal_names_apart(tmp_path):
    names = []
    for name in ("a/x-eth0.pcap", "a/x-eth0.1.pcap", "b/x-eth0.pcap.gz", "a/y.2.pcapng", "a/z"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())
        names.append(path)
    pieces = files_of(names).pieces
    assert [piece.interface for piece in pieces] == ["a/x-eth0", "a/x-eth0", "b/x-eth0", "y.2", "z"]


def test_the_router_is_in_names_of_our_kind_alone():
    assert [router_of(n) for n in ("r1-eth0", "a/core-2-eth13", "eth0", "r1-ethX")] == [
        "r1",
        "a/core-2",
        None,
        None,
    ]


def test_captures_of_many_kinds_are_one_network(network):
    for n in range(10):
        network.publish(n, n * LATER_NS)
    paths = network.write()
    packed = paths[2].with_suffix(".pcap.gz")
    packed.write_bytes(gzip.compress(paths[2].read_bytes()))
    expected = network.read(paths=paths)["steps"]
    assert network.read(paths=[*paths[:2], packed, *paths[3:]])["steps"] == expected


def test_again_only_what_is_new_is_read_and_the_answer_is_the_same(network, tmp_path):
    for n in range(200):
        network.publish(n, n * LATER_NS)
    paths = network.write()
    first = network.read(tmp_path / "out", paths)
    again = network.read(tmp_path / "out", paths)
    assert again == {**first, "reused_pieces": 6}


@pytest.mark.parametrize("rows", [7, 100, 10**6])
def test_spans_of_any_size_hold_every_message_once(network, tmp_path, rows):
    for n in range(300):
        network.publish(n, n * LATER_NS)
    network.read(tmp_path / "out", split_bytes=2_000)
    packets = tmp_path / "out" / "packets.parquet"
    parts = spans(packets, rows)
    assert len(parts) > 1 or rows > 1000
    places = Places.of(network.passed, {})
    times = Times(Windows.of(parts[0].from_ns, parts[-1].until_ns))
    reports = [take_steps(packets, part, places, times, None) for part in parts]
    assert sum(count for report in reports for _, count, _ in report.messages) == 300


def test_control_traffic_alone_has_no_messages_and_no_steps(tmp_path):
    path = tmp_path / "quiet.pcap"
    path.write_bytes(pcap([frame(ACK)] * 3))
    document = read_captures(files_of([path]), tmp_path / "out", in_threads(1), 1)
    assert (document["packets"], document["messages"], document["steps"]) == (3, 0, [])
    assert document["kinds"] == [{"type": "ACK", "kind": None, "packets": 3, "bytes": 3 * len(ACK)}]


def test_one_capture_that_cannot_be_read_leaves_the_others(network):
    network.publish(1, 0)
    paths = network.write()
    paths[3].write_bytes(b"garbage" * 9)
    document = network.read(paths=paths)
    assert document["packets"] == 5
    assert any(text.startswith("captures/r2-eth1.pcap: is not a pcap file") for text in document["problems"])


def test_if_no_capture_can_be_read_that_is_the_error(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(b"garbage" * 9)
    with pytest.raises(AnalysisError, match=r"no capture could be read: x\.pcap: is not a pcap file"):
        read_captures(files_of([path]), None, in_threads(1), 1)
    with pytest.raises(AnalysisError, match="a folder; name the captures in it"):
        files_of([tmp_path])
    with pytest.raises(AnalysisError, match="not there"):
        files_of([tmp_path / "none.pcap"])


def test_a_distribution_in_parts_is_that_of_all_and_its_quantiles_are_near(rng):
    import numpy as np

    values = np.array([rng.choice([-1, 1, 1, 1]) * int(10 ** rng.uniform(0, 12)) for _ in range(5000)])
    whole, parts = Distribution.of(values), Distribution()
    for part in np.array_split(values, 7):
        parts.add(Distribution.read(Distribution.of(part).plain()))
    assert parts == whole
    assert whole.count == 5000
    assert whole.negative == int((values < 0).sum())
    for share in (0.01, 0.5, 0.99, 1.0):
        exact = np.sort(values)[max(int(np.ceil(share * 5000)) - 1, 0)]
        assert abs(whole.quantile(share) - exact) <= max(abs(exact) * 0.008, 1)


def test_the_captures_that_benchmarks_generate_are_followed_from_end_to_end(tmp_path):
    from tests.benchmarks.chain_captures import names, write

    document = read_captures(files_of(write(tmp_path / "chain", 1600)), None, in_threads(2), 2)
    assert (document["packets"], document["messages"], document["ambiguous_steps"]) == (1600, 200, 0)
    in_a_row = list(zip(names(), names()[1:], strict=False))
    assert [(step["from"], step["to"]) for step in document["steps"]] == in_a_row
    assert {step["messages"] for step in document["steps"]} == {200}


def test_folders_of_one_name_keep_captures_of_two_runs_apart(tmp_path):
    networks = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        networks.append(Network(tmp_path / run / "captures"))
    networks[0].publish(1, 0)
    networks[1].publish(1, LATER_NS)
    paths = [path for network in networks for path in network.write()]
    document = read_captures(files_of(paths), None, in_threads(1), 1)
    assert [row["interface"] for row in document["captures"]][:2] == [
        "one/captures/r1-eth0",
        "one/captures/r1-eth1",
    ]
    assert len(document["captures"]) == len(paths) == 12
    crowded = [text for text in document["problems"] if "captures of one link" in text]
    assert crowded[0].startswith("one/captures/r1-eth1, one/captures/r2-eth0, two/captures/r1-eth1, ")
    assert any("captures of several runs" in text and "publisher" in text for text in document["problems"])


def test_ends_of_a_link_that_have_no_message_in_common_are_of_several_runs(tmp_path):
    first, second = Network(tmp_path / "first"), Network(tmp_path / "second")
    for number in range(5):
        first.publish(number, number * LATER_NS)
        second.publish(100 + number, number * LATER_NS)
    ends = {
        path.stem: path
        for network, end in ((first, "r1-eth1"), (second, "r2-eth0"))
        for path in network.write()
        if path.stem == end
    }
    document = read_captures(files_of(list(ends.values())), None, in_threads(2), 2)
    assert document["problems"] == [
        "r1-eth1 and r2-eth0: captures of one link, by their addresses, and no message is in both: "
        "they are of several runs, or of different times"
    ]


def test_a_capture_that_cannot_be_read_is_not_counted(tmp_path):
    network = Network(tmp_path)
    network.publish(1, 0)
    (tmp_path / "r9-eth0.pcap").write_bytes(b"")
    document = read_captures(files_of([*network.write(), tmp_path / "r9-eth0.pcap"]), None, in_threads(2), 2)
    assert [each["interface"] for each in document["captures"]] == [*network.passed]
    assert document["problems"] == ["r9-eth0.pcap: is empty; it was left out"]

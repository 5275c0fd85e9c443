"""`cbn export`: all captures of a run in one file that others read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from scapy.utils import RawPcapNgReader

from fastpath.capture import CaptureWriter


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three interfaces with frames of their own, one of them in several files, one stamped out of order."""
    rng, rows = random.Random("export"), []
    folder = tmp_path / "run" / "captures"
    folder.mkdir(parents=True)
    for number, (kind, rotate) in enumerate([("pcap", 0), ("pcapng", 2_000), ("pcap", 0)]):
        writer = CaptureWriter(folder / f"i{number}.{kind}", format=kind, rotate_bytes=rotate)
        for at in range(300):
            stamp = at * 1_000 + rng.randrange(400 * (1 if number < 2 else 20))
            writer.record(stamp, bytes([number]) + stamp.to_bytes(8, "big") + bytes(60))
        writer.close()
        later = [f"i{number}.{n}.{kind}" for n in range(1, writer.files)]
        rows.append({"interface": f"i{number}", "file": f"i{number}.{kind}"})
        rows[-1] |= {"files": [f"i{number}.{kind}", *later]} if later else {}
    (folder / "index.json").write_text(json.dumps({"interfaces": rows}))
    return folder.parent


def test_every_packet_is_there_once_in_order_of_time(run: Path, tmp_path: Path, cbn_here: Any) -> None:
    out = tmp_path / "all.pcapng"
    done = cbn_here("export", str(run), "--pcapng", str(out))
    assert (done.returncode, done.stdout) == (0, f"{out}: 900 packets of 3 interfaces\n")
    frames = [data for data, _ in RawPcapNgReader(str(out))]
    stamps = [int.from_bytes(data[1:9], "big") for data in frames]
    assert stamps == sorted(stamps)
    assert sorted({data[0] for data in frames}) == [0, 1, 2]
    assert len(set(frames)) == 900
    assert [name for name in (b"i0", b"i1", b"i2") if name in out.read_bytes()[:300]] == [b"i0", b"i1", b"i2"]


def test_interfaces_are_named_by_their_node_and_the_one_at_the_other_end(
    tiny: Path, tmp_path: Path, cbn_here: Any
) -> None:
    cbn_here("run", tiny, "--world", "sim", "--out", "tiny", "--quiet")
    done = cbn_here("export", "tiny", "--pcapng", "tiny.pcapng")
    assert done.returncode == 0, done.stderr
    named = (tmp_path / "tiny.pcapng").read_bytes()
    assert all(name in named for name in (b"r1-eth0 (to ", b" (to r2)", b" (to alice)", b" (to bob)"))


def test_an_existing_file_is_not_replaced_without_force(run: Path, tmp_path: Path, cbn_here: Any) -> None:
    out = tmp_path / "all.pcapng"
    out.write_text("mine")
    done = cbn_here("export", str(run), "--pcapng", str(out))
    assert (done.returncode, out.read_text()) == (2, "mine")
    assert "--force" in done.stderr
    reported = json.loads(cbn_here("export", str(run), "--pcapng", str(out), "--force", "--json").stdout)
    assert reported == {"file": str(out), "interfaces": 3, "packets": 900, "truncated": 0}


def test_what_is_missing_or_damaged_is_named_and_nothing_is_left(
    run: Path, tmp_path: Path, cbn_here: Any
) -> None:
    out = tmp_path / "all.pcapng"
    capture = run / "captures" / "i2.pcap"
    capture.write_bytes(capture.read_bytes()[:-5])
    reported = json.loads(cbn_here("export", str(run), "--pcapng", str(out), "--json").stdout)
    assert (reported["packets"], reported["truncated"]) == (899, 1)
    out.unlink()
    capture.write_text("no capture")
    done = cbn_here("export", str(run), "--pcapng", str(out))
    assert done.returncode == 2
    assert "i2.pcap" in done.stderr
    capture.unlink()
    done = cbn_here("export", str(run), "--pcapng", str(out))
    assert done.returncode == 4
    assert "i2.pcap: No such file" in done.stderr
    (run / "captures" / "index.json").write_text("[]")
    assert cbn_here("export", str(run), "--pcapng", str(out)).returncode == 2
    assert cbn_here("export", str(tmp_path), "--pcapng", str(out)).returncode == 2
    assert list(tmp_path.glob("all.*")) == []

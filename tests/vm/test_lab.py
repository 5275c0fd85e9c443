"""`vagrant up lab` makes a machine on which everything works: `make test-vm`.

The tests are stages of one session with the machine, in the order in which they stand here.
"""

from __future__ import annotations

import json
import re
import urllib.request

import pytest

from tests.vm.vagrant import REPORTS_PORT, ROOT, Guest, machines_left, stage, vagrant

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1750)]
VERDICT = "All 582 owed deliveries arrived, each once."


def test_everything_in_it_has_started(lab: Guest) -> None:
    assert lab.run("systemctl is-system-running --wait").stdout.strip() == "running"
    assert lab.output("sudo --non-interactive id --user").strip() == "0"


@pytest.mark.parametrize("listed", ["packages.apt", "packages-machine.apt"])
def test_the_packages_that_the_testbed_needs_are_there(lab: Guest, listed: str) -> None:
    lines = (ROOT / listed).read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    shown = lab.output(f"dpkg-query --show --showformat '${{db:Status-Status}}\\n' {' '.join(wanted)}")
    assert shown.split() == ["installed"] * len(wanted)


def test_it_has_no_keys_but_those_that_it_made_itself(lab: Guest) -> None:
    """Else whoever has the box could pretend to be any machine that was made of it."""
    shown = lab.output('stat --format %Y /etc/ssh/ssh_host_ed25519_key; date --date "$(uptime --since)" +%s')
    made, booted = map(int, shown.split())
    assert made >= booted - 5
    assert "insecure" not in lab.output("cat .ssh/authorized_keys")


def test_it_can_do_everything_that_it_is_for(lab: Guest) -> None:
    report = json.loads(lab.output("sudo cbn doctor --json"))
    able = report["abilities"]
    assert {name for name in ("sim", "emu", "netem", "analysis") if able[name]} == {
        "sim",
        "emu",
        "netem",
        "analysis",
    }


def test_make_demo_ends_with_a_verdict_and_has_compiled_nothing(lab: Guest) -> None:
    with stage("make demo in the guest"):
        shown = lab.output("cd /vagrant && make demo", 1700)
    assert VERDICT in shown
    assert "report: runs/quickstart-emu-" in shown
    assert "Compiling" not in shown
    assert "Installing" not in shown


def test_its_reports_are_seen_from_the_host(lab: Guest) -> None:
    (name,) = lab.output("cd /vagrant/runs && ls -d quickstart-emu-*").split()
    with stage("the report, through the forwarded port"):
        address = f"http://127.0.0.1:{REPORTS_PORT}/{name}/report.html"
        with urllib.request.urlopen(address, timeout=60) as answer:
            page = answer.read().decode()
    assert "All 582 owed deliveries arrived" in page


def test_links_by_netem_do_what_they_are_asked_for(lab: Guest) -> None:
    """Slowed, since an emulated processor is late by as much as the delays that are asked for."""
    with stage("the conformance of links by netem, six times slower"):
        checks = "sudo .venv/bin/python -m tests.emu.conformance netem --dilate 6"
        done = lab.run(f"cd /vagrant && {checks}", 600)
    print(done.stdout)
    by_netem = re.findall(r"^netem .*$", done.stdout, re.MULTILINE)
    assert len(by_netem) > 10, done.stdout
    assert not [line for line in by_netem if "DOES NOT HOLD" in line]


def test_an_impaired_network_runs_on_netem_and_spark_judges_it(lab: Guest) -> None:
    with stage("a run over links by netem, with Spark's analysis"):
        run = "sudo cbn run quickstart --world emu --links netem --set topology.link_defaults.delay=5ms"
        shown = lab.output(f"cd /vagrant && {run} --analyze --out runs/netem", 1700)
    assert VERDICT in shown
    assert '"netem"' in lab.output("cat /vagrant/runs/netem/manifest.json")


def test_provisioning_again_changes_nothing(lab: Guest) -> None:
    with stage("vagrant provision lab, again"):
        done = vagrant("provision", "lab")
    assert re.search(r"lab +: ok=\d+ +changed=0 .*failed=0", done.stdout), done.stdout[-4000:]


def test_destroying_it_leaves_nothing(lab: Guest) -> None:
    with stage("vagrant destroy"):
        done = vagrant("destroy", "--force", "lab")
    assert done.returncode == 0, done.stdout
    assert machines_left() == []

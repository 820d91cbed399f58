"""`make gpu-campaign` in a clone, on a machine that has the packages it needs and no fusebench installed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

# Measured once and kept: so long that nothing is left at the end of it, however busy the machine is.
SECONDS = "300"
# A machine that runs other tests beside this one is disturbed, and would refuse to measure its ceilings.
KNOWN_CEILINGS = """
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.ruler.measure.conditions import fixed_conditions
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep.machine_file import keep_ceilings

known = Ceilings(
    device="the test's",
    measured_at=datetime.now(UTC).isoformat(),
    matmul_flop_per_s={"float32": 1e12, "bfloat16": 1e12},
    copy_bytes_per_s=1e11,
    vector_instruction_per_s=5e11,
    dispatch_s=1e-6,
    bandwidth_bytes_per_s={"65536": 1e12, "67108864": 1e11},
    conditions=fixed_conditions(torch.device("cpu")),
)
environment = environment_name(DeviceKind.CPU, settings_from_environment())
keep_ceilings(Path("results/data/local"), known, machine="testbox", environment=environment)
"""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """Results of three `make gpu-campaign` in one clone: killed, finished, nothing left to do."""

    out: Path
    data: Path
    kept_by_the_kill: dict[str, bytes]
    second: object
    third: object
    ingest: object
    after_second: dict[str, bytes]


@pytest.fixture(scope="module")
def campaign(new_user, kernels_built_here):
    """Kill a campaign in its sweep, let the second go to its end, and start a third."""
    shell = new_user("campaign")
    python = _python_without_fusebench(shell.folder.parent / "python")
    data = shell.folder / "results" / "data" / "local"
    out = data / "campaign" / "cpu"
    command = ["make", "gpu-campaign", "DEVICE=cpu", "BUDGET=quick", f"CAMPAIGN_PYTHON={python}"]
    environ = {**shell.environ, **kernels_built_here, "FUSEBENCH_THREADS": "1", "FUSEBENCH_MACHINE": "testbox"}
    # A rented machine has a variable of this name, and empties the folder.
    environ["OUT"] = str(shell.folder.parent / "anybodys")
    command += [f"CAMPAIGN_SECONDS={SECONDS}"]
    keeping = shell.run(python, "-c", KNOWN_CEILINGS, **environ)
    assert keeping.code == 0, keeping.output
    first = subprocess.Popen(
        command,
        cwd=shell.folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while first.poll() is None and not _journals(data):
        time.sleep(0.2)
    assert first.poll() is None, "the campaign ended before it measured anything"
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = _record(out, data)
    second = shell.run(*command, **environ)
    after_second = _record(out, data)
    third = shell.run(*command, **environ)
    ingest = shell.run(python, "-m", "fusebench", "ingest", **environ)
    return Campaign(
        out=out,
        data=data,
        kept_by_the_kill=kept,
        second=second,
        third=third,
        ingest=ingest,
        after_second=after_second,
    )


def _python_without_fusebench(folder: Path) -> Path:
    """An interpreter that sees the packages installed here, as any machine might have them, but not this project."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # A folder on the path is not searched for further .pth files, such as that of an editable install.
    (folder / "lib" / version / "site-packages" / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def _journals(data: Path) -> list[Path]:
    return list(data.glob("journal/*/*.jsonl"))


def _record(out: Path, data: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in [*_journals(data), *out.glob("*.jsonl")]}
    for path in data.glob("machines/*.json"):
        # The best times of the probe beside the ceilings may become better with each group.
        found[path.name] = json.dumps(json.loads(path.read_text())["environments"]).encode()
    return found


def test_it_goes_to_its_end_after_a_kill_and_says_how_each_piece_ended(campaign):
    assert campaign.second.code == 0, campaign.second.output
    ended = dict(re.findall(r"^(\S+) +(done|absent|unfinished|failed): ", campaign.second.out, re.MULTILINE))
    assert {piece for piece, how in ended.items() if how == "done"} >= {
        "correctness", "ceilings", "host-cost", "tune", "sweep", "table", "asv", "pack",
    }  # fmt: skip
    assert set(ended.values()) == {"done"}
    assert "Traceback" not in campaign.second.output


def test_what_was_recorded_before_the_kill_is_kept_and_not_measured_again(campaign):
    assert campaign.kept_by_the_kill.keys() >= {"correctness.jsonl", "testbox.json", "tuning-quick-cpu.jsonl"}
    for name, content in campaign.kept_by_the_kill.items():
        assert campaign.after_second[name].startswith(content), name
    assert "nothing was left to check" in campaign.second.out


def test_no_point_is_recorded_twice_and_every_one_that_ran_has_a_profile(campaign):
    (path,) = _journals(campaign.data)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    # Of a point's timing there is a line after each visit, and one where a visit is found to have been disturbed.
    keys = [
        (
            line["run"]["run_id"],
            line["kind"],
            json.dumps(line["point"], sort_keys=True),
            tuple(visit.get("disturbed") for visit in line.get("visits", ())),
        )
        for line in lines
    ]
    assert len(keys) == len(set(keys))
    assert {line["run"]["run_id"] for line in lines} == {lines[0]["run"]["run_id"]}
    timed = {key[2] for key, line in zip(keys, lines, strict=True) if key[1] == "timing" and line["state"] == "ok"}
    profiled = {key[2] for key in keys if key[1] == "profile"}
    assert timed == profiled
    assert {"eager", "fused", "compiled"} <= {json.loads(point)["provider"] for point in timed}
    reasons = {line["point"]["provider"]: line["reason"] for line in lines if line["state"] == "unavailable"}
    assert "needs a GPU" in reasons["compiled-cudagraphs"]


def test_the_next_one_measures_nothing_and_says_so(campaign):
    assert campaign.third.code == 0, campaign.third.output
    assert "Nothing was left to measure." in campaign.third.out
    assert _record(campaign.out, campaign.data) == campaign.after_second


def test_a_variable_called_out_changes_nothing(campaign):
    assert not (campaign.out.parents[4].parent / "anybodys").exists()
    assert list(campaign.out.glob("*.tar.gz"))


def test_the_table_comes_last_with_ratios_and_counts(campaign):
    table = campaign.second.out.rsplit("== pack", 1)[1]
    assert "**fused, wall time**" in table
    row = r"^\| mlp gelu_tanh 16, 64, 256 \| [\d.]+.* \| \d+\s% \| [\d.]+ \([\d.]+–[\d.]+\)"
    assert re.search(row, table, re.MULTILINE)
    assert re.search(r"^\| shapes \| \| \| \d+ ahead, \d+ even, \d+ behind", table, re.MULTILINE)


def test_the_archive_holds_the_record_and_what_asv_keeps(campaign):
    (archive,) = campaign.out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = tar.getnames()
    for start in ("journal/testbox/", "asv/testbox/", "machines/testbox.json", "traces/"):
        assert any(name.startswith(start) for name in names), start
    assert {"campaign/correctness.jsonl", "campaign/table-cpu.md", "campaign/tuning-quick-cpu.jsonl"} <= set(names)


def test_the_record_can_be_ingested_and_the_campaigns_own_files_are_left_alone(campaign):
    assert campaign.ingest.code == 0, campaign.ingest.output
    assert "0 not read" in campaign.ingest.out

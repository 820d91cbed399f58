"""The doctor names what is wrong with what is recorded to, and all that is wrong at once."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.ruler.doctor import record
from benchmarks.ruler.doctor.findings import Status
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.plan.settings import Settings, temporary_folder
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.machine_file import keep_ceilings, kept_ceilings

ROOT = Path(__file__).resolve().parents[3]
CONDITIONS = {"device": "a CPU", "torch": "2.13.0"}
KEPT = Ceilings(
    device="a CPU",
    measured_at="2026-11-01T00:00:00+00:00",
    matmul_flop_per_s={"float32": 2e11},
    copy_bytes_per_s=1e10,
    vector_instruction_per_s=1e11,
    dispatch_s=1e-6,
    bandwidth_bytes_per_s={"32768": 1e11},
    conditions=CONDITIONS,
)


class TestDisk:
    def test_a_full_disk_is_a_problem(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
        found = record.disk(tmp_path / "new" / "data", what="measurements", variable="FUSEBENCH_DATA")
        assert found.status is Status.PROBLEM
        assert "0.0 GiB free" in found.what
        assert "FUSEBENCH_DATA" in found.mend

    def test_one_that_takes_no_byte_more_is_a_problem(self, tmp_path, monkeypatch):
        def full(**_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(record.tempfile, "TemporaryFile", full)
        found = record.disk(tmp_path, what="measurements", variable="FUSEBENCH_DATA")
        assert (found.status, "No space left" in found.what) == (Status.PROBLEM, True)

    def test_the_folder_for_temporary_files_is_the_one_meant_though_it_can_hold_none(self):
        # tempfile passes over a full one in silence, and raises where all are.
        assert temporary_folder({"TMPDIR": "/nowhere", "TMP": "/elsewhere"}) == Path("/nowhere")
        assert temporary_folder({}) == Path("/tmp")  # noqa: S108 - where systems have it

    def test_looking_leaves_nothing_behind(self, tmp_path):
        record.disk(tmp_path / "new", what="measurements", variable="FUSEBENCH_DATA")
        assert list(tmp_path.iterdir()) == []


class TestLock:
    def test_a_free_lock_is_fine_and_stays_free(self, tmp_path):
        path = tmp_path / "lock"
        assert record.lock(path).status is Status.FINE
        with machine_lock(path, say=print):
            pass
        assert record.lock(path).status is Status.FINE

    def test_a_sweep_at_work_is_named(self, tmp_path):
        with machine_lock(tmp_path / "lock", say=print):
            found = record.lock(tmp_path / "lock")
        assert (found.status, str(os.getpid()) in found.what) == (Status.PROBLEM, True)

    def test_what_cannot_be_a_lock_is_named(self, tmp_path):
        assert record.lock(tmp_path).what.endswith("it is no file")
        assert record.lock(tmp_path / "nowhere" / "lock").what.endswith("its folder does not exist")
        (tmp_path / "link").symlink_to(tmp_path / "lock")
        assert record.lock(tmp_path / "link").what.endswith("it is a link")

    def test_nobody_is_to_be_killed_for_having_the_number_of_a_sweep_that_has_ended(self, tmp_path):
        path = tmp_path / "lock"
        bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        try:
            with machine_lock(path, say=print):
                path.write_text(str(bystander.pid))
                found = record.lock(path)
        finally:
            bystander.kill()
            bystander.wait()
        assert found.what.startswith(f"stale: its sweep (process {bystander.pid}) has ended")
        assert found.mend == f"kill {os.getpid()}"

    def test_what_a_killed_sweep_left_behind_is_named_with_the_command_that_ends_it(self, tmp_path):
        path = tmp_path / "lock"
        program = (
            "import os, subprocess, sys, time; from pathlib import Path;"
            "from benchmarks.ruler.sweep.lock import machine_lock\n"
            f"with machine_lock(Path({str(path)!r}), say=print) as fd:\n"
            "    left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], pass_fds=[fd])\n"
            "    print(left.pid, flush=True); time.sleep(60)\n"
        )
        sweep = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT)
        with sweep.stdout as lines:
            left = int(lines.readline())
        try:
            sweep.kill()
            sweep.wait()
            found = record.lock(path)
        finally:
            os.kill(left, signal.SIGKILL)
        assert found.status is Status.PROBLEM
        assert found.what.startswith(f"stale: its sweep (process {sweep.pid}) has ended")
        assert found.mend == f"kill {left}"
        deadline = time.monotonic() + 60
        while record.lock(path).status is not Status.FINE and time.monotonic() < deadline:
            time.sleep(0.05)
        assert record.lock(path).status is Status.FINE


class TestCeilings:
    def test_those_measured_too_low_are_invalid(self):
        now = replace(KEPT, copy_bytes_per_s=1.2e10, matmul_flop_per_s={"float32": 2.1e11, "bfloat16": 1e12})
        found = record.ceilings(lambda: KEPT, CONDITIONS, now)
        assert found.status is Status.PROBLEM
        assert found.what.endswith("copy 10 GB/s, now 12")
        assert "fusebench run --again" in found.mend

    def test_those_of_another_torch_are_invalid(self):
        found = record.ceilings(lambda: KEPT, {**CONDITIONS, "torch": "2.14.0"}, None)
        assert "invalid: torch was 2.13.0, and is 2.14.0" in found.what

    def test_those_the_machine_does_not_beat_are_fine(self):
        assert record.ceilings(lambda: KEPT, CONDITIONS, KEPT).status is Status.FINE
        refused = record.ceilings(lambda: KEPT, CONDITIONS, "others were busy")
        assert (refused.status, "not looked at again: others were busy" in refused.what) == (Status.FINE, True)

    def test_those_of_a_slow_machine_say_so(self):
        slow = replace(KEPT, conditions={**CONDITIONS, "slow_rounds": 12, "machine_speed": 0.57})
        found = record.ceilings(lambda: slow, CONDITIONS, None)
        assert found.status is Status.FINE
        assert "the machine was slow throughout, a quarter of the time at 57 % of its best or less" in found.what

    def test_a_machine_that_is_slow_now_does_not_show_that_it_does_no_better(self):
        slow = replace(KEPT, conditions={**CONDITIONS, "slow_rounds": 12, "machine_speed": 0.57})
        found = record.ceilings(lambda: KEPT, CONDITIONS, slow)
        assert found.what.endswith("; the machine does no better now, while it is slow")

    def test_none_are_no_problem_unless_they_are_refused_now(self):
        assert record.ceilings(lambda: None, CONDITIONS, KEPT).status is Status.NOTE
        assert record.ceilings(lambda: None, CONDITIONS, "others were busy").status is Status.PROBLEM

    @pytest.mark.parametrize(
        ("content", "damage"),
        [
            (b'{"format": 2, "environ', "is damaged: from line 1, column 15 on it is no JSON"),
            (b"", "is damaged: it is empty"),
            (b"\xff\xfe", "is damaged: it is no text"),
            (b'{"format": 2}', "is none: 'environments' is missing"),
            (b"[]", "is none: some of its values are of another kind"),
            (b'{"format": 2, "environments": []}', "is none: some of its values are of another kind"),
            (b'{"format": 9, "environments": {}}', "has format 9, and this ruler reads 1 and 2"),
        ],
    )
    def test_a_damaged_file_is_named_in_words_with_its_mend_once(self, tmp_path, content, damage):
        file = tmp_path / "machines" / "vm.json"
        file.parent.mkdir()
        file.write_bytes(content)
        found = record.ceilings(lambda: kept_ceilings(tmp_path, machine="vm", environment="e"), CONDITIONS, None)
        assert (found.status, found.what) == (Status.PROBLEM, f"the file of ceilings {file} {damage}")
        assert found.mend.endswith("move it away, and they are measured anew")

    def test_nothing_is_measured_while_a_sweep_runs(self, tmp_path):
        def forbidden():
            raise AssertionError

        with machine_lock(tmp_path / "lock", say=print):
            found = list(
                record.examine_record(
                    data_dir=tmp_path, lock_file=tmp_path / "lock", cache=tmp_path, machine="m", environment="e",
                    conditions=CONDITIONS, ceilings_now=forbidden,
                )
            )  # fmt: skip
        assert [each.subject for each in found][-2:] == ["lock", "ceilings"]


@pytest.fixture
def left_behind(tmp_path):
    """A lock that a process still holds whose sweep was killed."""
    path = tmp_path / "lock"
    program = (
        "import sys, time; from pathlib import Path;"
        "from benchmarks.ruler.sweep.lock import machine_lock\n"
        f"with machine_lock(Path({str(path)!r}), say=print):\n"
        f"    Path({str(path)!r}).write_text('999999999')\n"
        "    print(flush=True); time.sleep(600)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT)
    with holder.stdout as lines:
        lines.readline()
        yield path, holder.pid
    holder.kill()
    holder.wait()


@pytest.mark.slow
def test_all_that_is_wrong_at_once_is_named_each_with_its_mend(tmp_path, left_behind):
    """No compiler, a busy neighbour, a stale lock, a disk that takes no byte, and ceilings of another torch."""
    lock, holder = left_behind
    data, cache, nowhere = (tmp_path / name for name in ("data", "cache", "nowhere"))
    settings = Settings(data_dir=data, machine="here", threads=1)
    keep_ceilings(data, KEPT, machine="here", environment=environment_name(DeviceKind.CPU, settings))
    environ = {name: text for name, text in os.environ.items() if name != "CXX"} | {
        "FUSEBENCH_DATA": str(data), "FUSEBENCH_MACHINE": "here", "FUSEBENCH_LOCK_FILE": str(lock),
        "FUSEBENCH_THREADS": "1", "FUSEBENCH_DEVICE": "cpu", "FUSED_MLP_CACHE": str(cache), "PATH": str(nowhere),
    }  # fmt: skip
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.ruler.doctor.command", "--format", "json"],
            cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=300,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )  # fmt: skip
    finally:
        busy.kill()
        busy.wait()
    assert answer.returncode == 2, answer.stderr
    found = {each["subject"]: SimpleNamespace(**each) for each in json.loads(answer.stdout)}
    problems = {name for name, each in found.items() if each.status == "problem"}
    assert problems >= {"C++ compiler", "load", "lock", "ceilings", "disk (measurements)", "disk (temporary files)"}
    assert all(found[name].mend for name in problems)
    assert "`fused` and `compiled` are unavailable" in found["C++ compiler"].what
    assert found["lock"].mend == f"kill {holder}"
    assert found["ceilings"].what.startswith("invalid: ")
    assert found["disk (measurements)"].what.startswith(str(data))

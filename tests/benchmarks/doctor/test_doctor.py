"""The doctor names what is wrong with a machine, and how to mend it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console

from benchmarks.ruler.doctor import command, machine, software
from benchmarks.ruler.doctor.findings import Status, conclusion, fine, problem, table
from benchmarks.ruler.doctor.machine import BusyProcess
from benchmarks.ruler.measure.conditions import fixed_conditions
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.part_speed import Part
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep.machine_file import BestProbe, keep_probe
from benchmarks.ruler.sweep.machine_speed import _CONDITIONS as KEPT
from fused_mlp.native import build

ROOT = Path(__file__).resolve().parents[3]


class TestSoftware:
    def test_without_a_compiler_fused_is_unavailable(self, monkeypatch, tmp_path):
        monkeypatch.setattr(build, "_loaded", None)
        monkeypatch.setattr(build, "_failure", None)
        monkeypatch.setattr(build, "_library_path", lambda: tmp_path / "none.so")
        monkeypatch.setattr(build, "_compiler", lambda: None)
        found = software.compiler(build.why_not_buildable(), why_not_compiled=None)
        assert found.status is Status.PROBLEM
        assert found.what.startswith("`fused` is unavailable on the CPU: ")
        assert "CXX" in found.mend

    def test_kernels_that_are_built_already_do_not_hide_that_torch_compile_has_no_compiler(self):
        found = software.compiler(None, why_not_compiled="needs a C++ compiler (g++ or clang++) on PATH")
        assert found.status is Status.PROBLEM
        assert found.what.startswith("`compiled` is unavailable on the CPU: needs a C++ compiler")
        both = software.compiler("none is on PATH", why_not_compiled="needs one")
        assert both.what.startswith("`fused` and `compiled` are unavailable on the CPU: none is on PATH")
        assert software.compiler(None, why_not_compiled=None).status is Status.FINE

    def test_missing_headers_of_python_are_a_problem_where_there_is_a_compiler(self, tmp_path):
        found = software.headers(tmp_path, has_compiler=True)
        assert (found.status, "python3-dev" in found.mend) == (Status.PROBLEM, True)
        assert software.headers(tmp_path, has_compiler=False).status is Status.NOTE
        (tmp_path / "Python.h").touch()
        assert software.headers(tmp_path, has_compiler=True).status is Status.FINE

    def test_a_gpu_that_torch_was_not_built_for_is_a_problem(self):
        found = software.gpu(has_driver=True, torch_cuda=None, n_devices=0)
        assert (found.status, "without CUDA" in found.what) == (Status.PROBLEM, True)
        assert "CUDA_VISIBLE_DEVICES" in software.gpu(has_driver=True, torch_cuda="13.0", n_devices=0).mend
        assert software.gpu(has_driver=True, torch_cuda="13.0", n_devices=1).status is Status.FINE
        assert software.gpu(has_driver=False, torch_cuda=None, n_devices=0).status is Status.FINE

    def test_a_triton_that_torch_does_not_ask_for_is_a_problem(self):
        wanted = software.wanted_triton(
            ["filelock", "triton==3.7.1; platform_system == 'Linux'", "opt-einsum>=3.3; extra == 'opt-einsum'"]
        )
        assert wanted == "==3.7.1"
        assert software.triton("3.7.1", wanted=wanted).status is Status.FINE
        assert software.triton("3.6.0", wanted=wanted).mend == "pip install 'triton==3.7.1'"
        assert software.triton(None, wanted=wanted).status is Status.NOTE

    def test_threads_beyond_what_a_container_leaves_are_a_problem(self):
        found = software.threads(4, usable=8, quota=1.5)
        assert (found.status, found.mend) == (Status.PROBLEM, "FUSEBENCH_THREADS=1 fusebench run")
        assert software.threads(4, usable=2, quota=None).mend == "FUSEBENCH_THREADS=2 fusebench run"
        assert software.threads(2, usable=2, quota=8.0).status is Status.FINE

    def test_a_library_that_does_not_know_the_processor_is_told(self):
        found = software.products("Intel(R) Architecture processors", has="AVX512")
        assert found.status is Status.NOTE
        assert "not for one with the AVX512 that it has" in found.what
        known = "Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled processors"
        assert software.products(known, has="AVX512").status is Status.FINE
        assert software.products(None, has="AVX2").status is Status.FINE

    def test_an_old_python_is_a_problem(self):
        assert software.python((3, 10), supported=">=3.11").status is Status.PROBLEM
        assert software.python((3, 13), supported=">=3.11").status is Status.FINE

    def test_what_throttles_a_gpu_is_named(self):
        assert software.throttling("its temperature", driver="580").status is Status.PROBLEM
        assert "lock" in software.throttling(None, driver=None).mend


class TestMachine:
    def test_a_busy_neighbour_is_named(self):
        code = "print(flush=True)\nwhile True: pass"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as busy:
            try:
                busy.stdout.readline()
                # Where others leave it no processor for a moment, it is not busy in a window as short as one.
                for _ in range(30):
                    window, busiest = machine._idle_window()
                    found = machine.load(window.others_cores, busiest)
                    if found.status is Status.PROBLEM:
                        break
            finally:
                busy.kill()
        assert found.status is Status.PROBLEM
        assert str(busy.pid) in {str(each.pid) for each in busiest} or len(busiest) == 3

    def test_what_others_take_is_said_with_their_names(self):
        found = machine.load(0.9, [BusyProcess(pid=7, name="chrome", cores=0.8)])
        assert found.what == "other processes use 0.9 cores: chrome (process 7) 0.8"
        assert machine.load(0.02, []).status is Status.FINE
        assert machine.load(None, []).status is Status.NOTE

    def test_slow_episodes_are_told_by_the_share_of_looks_and_how_slow_they_typically_are(self):
        def readings(core_times):
            return [{Part.CORE: time_s, Part.PRODUCT: 1e-3, Part.MEMORY: 1e-3} for time_s in core_times]

        assert machine.speed(readings([1.0] * 9 + [1.5]), {}).status is Status.FINE
        found = machine.speed(readings([1.0] * 4 + [2.0] * 6), {})
        assert found.what.startswith(
            "one core's arithmetic ran below 92 % of its best in 60 % of 10 looks, typically at 50"
        )
        assert found.mend.startswith("nothing here shows why")
        explained = machine.speed(readings([1.0] * 4 + [2.0] * 6), {}, is_explained=True)
        assert explained.mend.startswith("mend what else is found here first")
        kept = machine.speed(readings([1.0] * 10), {"core": 0.5})
        assert "latencies and × eager are marked as disturbed" in kept.mend
        merely_slow = machine.speed(readings([1.0] * 4 + [1.25] * 6), {})
        assert merely_slow.mend.endswith("latencies are marked as disturbed, and × eager stands on a CPU")
        assert "in 100 % of 10 looks, typically at 50 %" in kept.what

    def test_a_best_that_nothing_comes_near_is_told_with_its_file(self):
        readings = [{Part.CORE: time_s, Part.PRODUCT: 1e-3, Part.MEMORY: 1e-3} for time_s in [1.0] * 10]
        never = machine.speed(readings, {"core": 0.5}, kept_in="of 2026-11-01, in machines/vm.json")
        assert "Nothing came near the best, which is of 2026-11-01, in machines/vm.json" in never.mend
        assert "move that file away and measure by fusebench run --again" in never.mend
        once = machine.speed([{**readings[0], Part.CORE: 0.5}, *readings], {"core": 0.5}, kept_in="in machines/vm.json")
        assert "came near" not in once.mend
        explained = machine.speed(readings, {"core": 0.5}, is_explained=True, kept_in="in machines/vm.json")
        assert "came near" not in explained.mend

    @pytest.mark.parametrize(
        ("found", "status"),
        [
            (machine.governor("powersave"), Status.PROBLEM),
            (machine.governor("performance"), Status.FINE),
            (machine.governor(None), Status.NOTE),
            (machine.steal(0.2), Status.PROBLEM),
            (machine.steal(0.0), Status.FINE),
            (machine.quota(None, None), Status.FINE),
            (machine.quota(1.5, 0.0), Status.FINE),
            (machine.quota(0.5, 0.4), Status.PROBLEM),
            (machine.memory(2**28), Status.PROBLEM),
            (machine.memory(2**34), Status.FINE),
        ],
    )
    def test_each_state_has_its_status(self, found, status):
        assert found.status is status

    def test_processes_are_read_by_whatever_name_they_have(self, tmp_path, monkeypatch):
        (tmp_path / "7").mkdir()
        ticks = os.sysconf("SC_CLK_TCK")
        fields = ["S", *["0"] * 10, str(3 * ticks), str(ticks), "0"]
        (tmp_path / "7" / "stat").write_text(f"7 (a) (b) {' '.join(fields)}", encoding="utf-8")
        monkeypatch.setattr(machine, "_PROC", tmp_path)
        assert machine.seconds_by_process() == {7: ("a) (b", 4.0)}


def test_the_table_says_the_mend_below_the_problem():
    found = [fine("lock", "free"), problem("load", "others use 1.0 cores", mend="end them")]
    console = Console(width=60)
    with console.capture() as printed:
        console.print(table(found))
    lines = [" ".join(line.split()) for line in printed.get().splitlines()]
    assert lines == ["fine lock free", "problem load others use 1.0 cores", "→ end them"]
    assert conclusion(found) == "1 problem: load."
    assert "nothing would disturb" in conclusion(found[:1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "days", "is_compared"),
    [({}, 29, True), ({}, 31, False), ({"torch": "1.0"}, 1, False), ({"device": "another CPU"}, 1, False)],
)
def test_the_machine_is_compared_with_the_best_that_a_sweep_would_take_and_no_other(
    tmp_path, monkeypatch, changed, days, is_compared
):
    """A best of other hardware or versions would be called one to move away, though a sweep learns anew by itself."""
    settings = Settings(data_dir=tmp_path, machine="box", device=DeviceKind.CPU, threads=torch.get_num_threads())
    conditions = fixed_conditions(torch.device("cpu")) | changed
    measured_at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    best = BestProbe(seconds={"core": 1e-3}, measured_at=measured_at, conditions={n: conditions.get(n) for n in KEPT})
    keep_probe(tmp_path, best, machine="box", environment=environment_name(DeviceKind.CPU, settings))
    asked = {}
    monkeypatch.setattr(command, "examine_software", lambda **_: iter(()))
    monkeypatch.setattr(command, "examine_record", lambda **_: iter(()))
    monkeypatch.setattr(command, "examine_machine", lambda **given: asked.update(given) or iter(()))
    assert list(command.examine(settings)) == []
    assert asked["best_s"] == ({"core": 1e-3} if is_compared else {})
    assert (asked["kept_in"] is not None) is is_compared


def test_the_command_looks_at_everything_and_answers_in_its_exit_code(tmp_path):
    environ = {**os.environ, "FUSEBENCH_DATA": str(tmp_path), "FUSEBENCH_LOCK_FILE": str(tmp_path / "lock")}
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.ruler.doctor.command", "--format", "json"],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    found = [SimpleNamespace(**each) for each in json.loads(answer.stdout)]
    subjects = {
        "C++ compiler",
        "Python headers",
        "GPU",
        "triton",
        "threads",
        "CPU governor",
        "load",
        "stolen time",
        "speed",
        "lock",
    }
    assert subjects | {"memory", "ceilings"} <= {each.subject for each in found}
    has_problem = any(each.status == "problem" for each in found)
    assert answer.returncode == (2 if has_problem else 0)
    assert all(each.mend for each in found if each.status == "problem")
    assert not (tmp_path / "machines").exists()

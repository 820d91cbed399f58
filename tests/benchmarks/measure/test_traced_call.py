"""What a trace adds to a profile: on saved traces of a GPU where there is none, and where no trace can be kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.measure import traced_call
from benchmarks.ruler.measure.generated_kernels import generated_kernels_announced
from benchmarks.ruler.measure.profiling import profile_call
from benchmarks.ruler.measure.traced_call import traced
from benchmarks.ruler.record.lines import line_from_text, text_from_line
from benchmarks.ruler.record.outcome import OperatorRow, ProfileOutcome, State

SAVED = Path(__file__).parents[1] / "traces" / "saved"


def operator(name, *, computes=True):
    return OperatorRow(name=name, count=1.0, self_time_s=1e-6, total_time_s=1e-6, is_compute=computes)


@pytest.fixture
def on_a_gpu(monkeypatch):
    """A function: what becomes of a profile with these operators, where the session on the GPU left a saved trace."""

    def outcome(name, *operators):
        def write(_call, path, *, on_gpu):
            assert on_gpu
            shutil.copy(SAVED / f"{name}.json", path)

        monkeypatch.setattr(traced_call, "_write_trace", write)
        before = ProfileOutcome(state=State.OK, kernel_launches=4.0, operators=operators)
        return traced(before, lambda: None, device=torch.device("cuda"), trace=None)

    return outcome


def test_the_device_timeline_and_its_runtime_are_in_the_outcome_and_in_the_journal(on_a_gpu, profile_line):
    found = on_a_gpu("gpu_gaps", *map(operator, ("aten::addmm", "aten::gelu", "aten::copy_")))
    assert (found.gap_count, found.longest_gap_s) == (5, pytest.approx(31e-6))
    assert found.device_busy_s == pytest.approx(19e-6)
    assert {row.kind for row in found.runtime_calls} == {"launch", "memcpy", "memset", "occupancy"}
    assert [row.allocated_bytes for row in found.operators] == [1024 + 256, 1024, 0]
    assert found.missing == {}
    line = replace(profile_line, outcome=found)
    assert line_from_text(text_from_line(line).encode()) == line


def test_what_is_not_known_is_null_in_the_journal_with_its_reason(on_a_gpu, profile_line):
    found = on_a_gpu("gpu_streams", operator("aten::mm"), operator("triton_poi_fused_mul_silu_0"))
    written = json.loads(text_from_line(replace(profile_line, outcome=found)))
    assert written["operators_min_bytes"] is None
    assert "triton_poi_fused_mul_silu_0" in written["missing"]["operators_min_bytes"]
    by_name = {row["name"]: row for row in written["operators"]}
    assert by_name["aten::mm"]["min_bytes"] is not None
    assert by_name["triton_poi_fused_mul_silu_0"]["min_bytes_reason"] is not None


def test_an_operator_that_the_second_pass_lacks_keeps_what_the_first_saw(on_a_gpu):
    (row,) = on_a_gpu("gpu_graph", operator("mine::op")).operators
    assert row == operator("mine::op")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), PermissionError(13, "Permission denied")])
def test_a_trace_that_cannot_be_kept_costs_its_numbers_and_not_the_profile(monkeypatch, tmp_path, error):
    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr(traced_call, "_write_trace", fail)
    x = torch.randn(8)
    found = profile_call(lambda: torch.relu(x), device=torch.device("cpu"), trace=tmp_path / "t.json.gz")
    assert (found.state, found.operator_count) == (State.OK, 1)
    assert found.trace is None
    assert found.allocated_bytes is None
    assert error.strerror in found.missing["allocated_bytes"]


def test_a_file_that_is_no_trace_costs_its_numbers_and_not_the_profile(monkeypatch, tmp_path):
    monkeypatch.setattr(traced_call, "_write_trace", lambda _call, path, **_options: path.write_text("half a tra"))
    x = torch.randn(8)
    found = profile_call(lambda: torch.relu(x), device=torch.device("cpu"), trace=tmp_path / "t.json")
    assert (found.operator_count, found.trace) == (1, None)
    assert "is no trace" in found.missing["runtime_calls"]


def test_a_generated_kernel_tells_its_arguments_in_the_second_pass_alone(monkeypatch):
    from torch._inductor.codecache import PyCodeCache

    def kernel(x, gate, out):
        torch.mul(x, gate, out=out)

    module = SimpleNamespace(cpp_fused_mul_0=kernel)
    monkeypatch.setattr(PyCodeCache, "modules", [module])
    x, gate, out = torch.randn(3, 8, 4)
    with generated_kernels_announced():
        found = profile_call(lambda: module.cpp_fused_mul_0(x, gate, out), device=torch.device("cpu"))
    assert module.cpp_fused_mul_0 is kernel
    (row,) = [row for row in found.operators if row.name == "cpp_fused_mul_0"]
    assert row.inputs == ("float32[8,4] float32[8,4] float32[8,4]",)
    assert found.operators_min_bytes == row.min_bytes == 3 * 4 * 32

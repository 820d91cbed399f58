"""Made profiles of a GPU and of a CPU, with stacks and traces; tests say what is in them.

`write_profiles(folder)` lays out a data folder of two commits. At the second, `eager` on the GPU runs one kernel more
(a copy) and its first product with another tile, slower; nothing else differs.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMMITS = ("a1" * 20, "b2" * 20)
BATCHES = (16, 256)
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn"
SLOWER_GEMM = "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn"
SECOND_GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas"
GELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl)"
)
COPY = "Memcpy DtoD (Device -> Device)"
FUSED = "mlp_full_tile_kernel"
HOST = "host;forward;"
# Microseconds of one call on the GPU, by provider: kernels with their operator, in the order they run.
KERNELS = {
    "eager": [(GEMM, "aten::addmm", 40.0), (GELU, "aten::gelu", 10.0), (SECOND_GEMM, "aten::addmm", 30.0)],
    "fused": [(FUSED, "fused_mlp::mlp", 60.0)],
}
PLANTED = [(SLOWER_GEMM, "aten::addmm", 52.0), (COPY, "aten::copy_", 6.0), *KERNELS["eager"][1:]]
GAP_US = 3.0


def kernels_of(provider: str, commit: str) -> list[tuple[str, str, float]]:
    """Kernels of a provider on the GPU at a commit, with their operators and microseconds at batch 16."""
    return PLANTED if (provider, commit) == ("eager", COMMITS[1]) else KERNELS[provider]


def write_profiles(folder: Path, *, devices: tuple[str, ...] = ("cuda", "cpu"), has_ceilings: bool = True) -> Path:
    """Write journals, traces and ceilings below `folder`, and return it."""
    for device in devices:
        machine = "gpu-01" if device == "cuda" else "desk"
        journal = folder / "journal" / machine
        journal.mkdir(parents=True)
        (folder / "traces").mkdir(exist_ok=True)
        for number, commit in enumerate(COMMITS):
            lines = [
                line
                for batch in BATCHES
                for provider in KERNELS
                for line in _lines(folder, machine, device, number, commit, batch, provider)
            ]
            path = journal / f"{commit[:8]}-py3.11-{device}-t2.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if has_ceilings:
            _write_ceilings(folder, machine, device)
    return folder


def _lines(
    folder: Path, machine: str, device: str, number: int, commit: str, batch: int, provider: str
) -> list[dict[str, object]]:
    started = START + timedelta(days=number, hours=1)
    scale = batch / 16
    kernels = [(name, operator, us * scale) for name, operator, us in kernels_of(provider, commit)]
    busy_s = sum(us for _, _, us in kernels) * 1e-6
    is_cuda = device == "cuda"
    idle_s = GAP_US * 1e-6 * (len(kernels) - 1)
    latency_s = busy_s + idle_s + 5e-6
    common = {
        "format": 1,
        "run": {
            "run_id": f"{machine[:3]}{number}", "started_at": started.isoformat(), "project": "fusebench",
            "commit": commit, "commit_date": (started - timedelta(hours=1)).isoformat(),
            "commit_subject": f"Commit number {number}", "machine": machine, "environment": f"py3.11-{device}-t2",
            "ruler_version": "3",
        },
        "conditions": {"python": "3.11.9", "torch": "2.13.0"},
        "point": {
            "operation": "mlp", "provider": provider, "pass": "forward",
            "dtype": "bfloat16" if is_cuda else "float32", "activation": "gelu", "batch": batch, "hidden": 1024,
            "dim": 256, "cache": "warm", "weights": "plain", "threads": 2,
        },
        "measured_at": (started + timedelta(minutes=5)).isoformat(), "state": "ok", "reason": None,
    }  # fmt: skip
    eager_s = sum(us for _, _, us in kernels_of("eager", commit)) * scale * 1e-6 + 5e-6
    timing = {
        "kind": "timing", "group": f"{batch:08x}", "latency_s": latency_s, "latency_ci_low_s": latency_s * 0.99,
        "latency_ci_high_s": latency_s * 1.01, "samples_s": [latency_s] * 20, "calls_per_sample": 10,
        "speedup_vs_eager": eager_s / latency_s, "speedup_ci_low": eager_s / latency_s * 0.99,
        "speedup_ci_high": eager_s / latency_s * 1.01, "flop": 4.0 * batch * 1024 * 256,
        "min_bytes": 2.0 * (2 * batch * 256 + 2 * 1024 * 256), "floor_s": 20e-6 * scale,
        "device_time_s": busy_s if is_cuda else None, "host_time_s": 0.7 * latency_s if is_cuda else None,
        "error_rel": 1e-3,
    }  # fmt: skip
    name = f"{commit[:8]}-{machine}-{batch}-{provider}.json.gz"
    if batch == BATCHES[0]:  # of others none was kept
        (folder / "traces" / name).write_bytes(gzip.compress(json.dumps(_trace(kernels, is_cuda)).encode()))
    profile = {
        "kind": "profile", "operator_count": len(kernels), "kernel_launches": len(kernels) if is_cuda else None,
        "operator_time_s": None if is_cuda else busy_s, "device_time_s": busy_s if is_cuda else None,
        "overhead_s": None if is_cuda else latency_s - busy_s, "profiled_call_s": None if is_cuda else latency_s,
        "peak_memory_bytes": 4096.0 * batch, "allocated_bytes": 8192.0 * batch, "freed_bytes": 8192.0 * batch,
        "operators_min_bytes": 2e6, "expected_bytes": 2e6, "expected_time_s": 50e-6 * scale,
        "expected_operator_count": len(KERNELS[provider]),
        "expected_kernel_launches": len(KERNELS[provider]) if is_cuda else None,
        "unexpected": "expected 3 kernels, saw 4: extra copy" if len(kernels) == 4 else None,
        "compilations": 0, "bound": "compute", "bound_detail": "20 µs of arithmetic, 3 µs of traffic at least",
        "operators": _operators(kernels), "stacks": _stacks(kernels, is_cuda=is_cuda),
        "kernels": [{"name": n, "count": 1, "device_time_s": us * 1e-6} for n, _, us in kernels] if is_cuda else [],
        "trace": name if batch == BATCHES[0] else None, "device_busy_s": busy_s if is_cuda else None,
        "gap_count": len(kernels) - 1 if is_cuda else None, "gap_time_s": idle_s if is_cuda else None,
        "longest_gap_s": GAP_US * 1e-6 if is_cuda else None, "gaps": [],
        "runtime_calls": [{"name": "cudaLaunchKernel", "kind": "launch", "count": len(kernels), "time_s": 8e-6}]
        if is_cuda else None,
        "missing": {} if is_cuda else {"device_busy_s": "a CPU has no timeline of a device"},
    }  # fmt: skip
    return [common | timing, common | profile]


def _operators(kernels: list[tuple[str, str, float]]) -> list[dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for _, operator, us in kernels:
        row = found.setdefault(
            operator, {"name": operator, "count": 0, "self_time_s": 0.0, "total_time_s": 0.0, "is_compute": True,
                       "inputs": ["bfloat16[16,256]"], "allocated_bytes": 32768.0, "min_bytes": 1e6},
        )  # fmt: skip
        row["count"] += 1
        row["self_time_s"] += us * 1e-6
        row["total_time_s"] += us * 1e-6
    wrapper = {"name": "aten::linear", "count": 2, "self_time_s": 2e-6, "total_time_s": 4e-6, "is_compute": False}
    return [*found.values(), wrapper]


def _stacks(kernels: list[tuple[str, str, float]], *, is_cuda: bool) -> list[str]:
    host: dict[str, float] = {f"{HOST}aten::linear": 2.0}
    device: dict[str, float] = {}
    for name, operator, us in kernels:
        path = f"{HOST}aten::linear;{operator}" if operator == "aten::addmm" else f"{HOST}{operator}"
        host[path] = host.get(path, 0.0) + (4.0 if is_cuda else us)
        shown = " ".join(name.replace(";", " ").split())
        device[f"device;{path.removeprefix('host;')};{shown}"] = us
    of_device = device if is_cuda else {}
    return [f"{path} {round(us * 1000)}" for path, us in (host | of_device).items()]


def _trace(kernels: list[tuple[str, str, float]], is_cuda: bool) -> dict[str, object]:  # noqa: FBT001
    def event(name: str, category: str, start: float, duration: float, lane: int, **args: object) -> dict[str, object]:
        return {"ph": "X", "name": name, "cat": category, "ts": start, "dur": duration, "pid": lane, "tid": lane,
                "args": args}  # fmt: skip

    events, host_at, device_at = [], 5.0, 20.0
    for number, (name, operator, us) in enumerate(kernels):
        lasts = 12.0 if is_cuda else us
        events.append(event("aten::linear" if operator == "aten::addmm" else operator, "cpu_op", host_at, lasts, 1))
        if operator == "aten::addmm":
            events.append(event(operator, "cpu_op", host_at + 1, lasts - 2, 1))
        if is_cuda:
            launch = event("cudaLaunchKernel", "cuda_runtime", host_at + 5, 3, 1, correlation=number)
            events += [launch, event(name, "kernel", device_at, us, 7, correlation=number)]
            device_at += us + GAP_US
        host_at += lasts + GAP_US
    end = max(host_at, device_at) + 2
    return {"traceEvents": [event("ProfilerStep#2", "user_annotation", 0, end, 1), *events]}


def _write_ceilings(folder: Path, machine: str, device: str) -> None:
    is_cuda = device == "cuda"
    ceilings = {
        "measured_at": START.isoformat(), "device": "made", "conditions": {},
        "matmul_flop_per_s": {"bfloat16": 7e14, "float32": 4e11} if is_cuda else {"float32": 4e11},
        "bandwidth_bytes_per_s": {str(2**i): rate for i, rate in
                                  ((20, 8e12), (24, 6e12), (28, 4e12))} if is_cuda
        else {str(2**i): rate for i, rate in ((15, 2e11), (20, 8e10), (24, 3e10), (28, 1.2e10))},
        "copy_bytes_per_s": 4e12 if is_cuda else 1.2e10, "vector_instruction_per_s": 1e11, "dispatch_s": 1e-6,
        "launch_s": 2e-6 if is_cuda else None,
    }  # fmt: skip
    path = folder / "machines" / f"{machine}.json"
    path.parent.mkdir(exist_ok=True)
    environments = {f"py3.11-{device}-t2": ceilings}
    path.write_text(json.dumps({"format": 2, "machine": machine, "environments": environments}))

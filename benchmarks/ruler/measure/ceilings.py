"""Measure a machine's ceilings: matrix product, memory copy, dispatch and launch, each alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.clock import CpuClock, CudaClock, time_behind_blocked_stream
from benchmarks.ruler.measure.conditions import device_name, last_level_cache_bytes
from benchmarks.ruler.plan.roofline import Ceilings

if TYPE_CHECKING:
    from collections.abc import Callable

_PRODUCT_SIZE = {"cpu": 1536, "cuda": 8192}
LEAST_SAMPLES = 5
_DTYPES = {"cpu": ("float32", "bfloat16"), "cuda": ("float32", "bfloat16", "float16")}


def measure_ceilings(device: torch.device, *, budget_s: float = 1.0) -> Ceilings:
    """Measure the ceilings of `device` with torch's current threads; each is the best within `budget_s` seconds.

    Products are of N(0, 1) squares, 1536³ on a CPU (by torch.mm and by oneDNN) and 8192³ on a GPU; the copy is of
    6 times the CPU's last level cache, or of 1 GiB on a GPU, and counts bytes read and written.
    """
    torch.manual_seed(0)
    product = {dtype: _product_flop_per_s(device, dtype, budget_s=budget_s) for dtype in _DTYPES[device.type]}
    one = torch.zeros(1)
    calls = 1000
    with torch.inference_mode():
        dispatch_s = _best_s(lambda: torch.relu(one), torch.device("cpu"), calls=calls, budget_s=budget_s / 4)
    return Ceilings(
        device=device_name(device),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        matmul_flop_per_s=product,
        copy_bytes_per_s=_copy_bytes_per_s(device, budget_s=budget_s),
        vector_instruction_per_s=product["float32"] / 2,
        dispatch_s=dispatch_s,
        launch_s=_launch_s(device) if device.type == "cuda" else None,
    )


def _product_flop_per_s(device: torch.device, dtype: str, *, budget_s: float) -> float:
    n = _PRODUCT_SIZE[device.type]
    left, right = (torch.randn(n, n, device=device).to(getattr(torch, dtype)) for _ in range(2))
    out = torch.empty_like(left)
    routes: list[Callable[[], object]] = [lambda: torch.mm(left, right, out=out)]
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        # On CPUs not made by Intel, MKL's float32 product reaches a fraction of what oneDNN's does.
        weight = right.to_mkldnn()
        fused_linear = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001 - its only name
        routes.append(lambda: fused_linear(left, weight, None, "none", [], ""))
    return max(2 * n**3 / _best_s(route, device, calls=1, budget_s=budget_s / len(routes)) for route in routes)


def _copy_bytes_per_s(device: torch.device, *, budget_s: float) -> float:
    n_bytes = 2**30 if device.type == "cuda" else min(6 * last_level_cache_bytes(), 2**30)
    source = torch.randn(n_bytes // 4, device=device)
    target = torch.empty_like(source)
    return 2 * n_bytes / _best_s(lambda: target.copy_(source), device, calls=1, budget_s=budget_s)


def _launch_s(device: torch.device) -> float:
    one = torch.zeros(1, device=device)
    return min(time_behind_blocked_stream(one.zero_, calls=200, block_s=0.02).device_time_s for _ in range(5))


def _best_s(call: Callable[[], object], device: torch.device, *, calls: int, budget_s: float) -> float:
    clock = CudaClock() if device.type == "cuda" else CpuClock()
    return best_seconds(lambda: clock.wall(call, calls=calls), now=clock.now, budget_s=budget_s) / calls


def best_seconds(sample_s: Callable[[], float], *, now: Callable[[], float], budget_s: float) -> float:
    """Return the least of at least LEAST_SAMPLES samples, in seconds, taken until `budget_s` is used up.

    One sample is taken and dropped first: it pays for first touches of memory and for cold caches.
    """
    sample_s()
    end = now() + budget_s
    samples = [sample_s() for _ in range(LEAST_SAMPLES)]
    while now() < end:
        samples.append(sample_s())
    return min(samples)

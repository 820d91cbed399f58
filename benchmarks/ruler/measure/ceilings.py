"""Measure a machine's ceilings: matrix product, bandwidth, dispatch and launch, each alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.bandwidth import BANDWIDTH, COPY, trials_on_cpu, trials_on_cuda
from benchmarks.ruler.measure.best_rates import Rates, RoundWatch, Trial, best_rates
from benchmarks.ruler.measure.clock import CpuClock, CudaClock, time_behind_blocked_stream
from benchmarks.ruler.measure.conditions import device_name, fixed_conditions
from benchmarks.ruler.plan.roofline import MEMORY_SWINGS, SLOW_ROUNDS, Ceilings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.ruler.measure.clock import Clock

_PRODUCT_SIZES = {"cpu": (256, 512, 1024, 1536), "cuda": (4096, 8192)}
_DTYPES = {"cpu": ("float32", "bfloat16"), "cuda": ("float32", "bfloat16", "float16")}
# One that would take longer is left out: of a dtype that the processor does not know, the smallest tells.
_LONGEST_PRODUCT_S = 0.15
_SHORTEST_SAMPLE_S = 1e-3
_PRODUCT = "matmul_flop_per_s."
_DISPATCH, _LAUNCH = "dispatch_per_s", "launch_per_s"
_CALLS = 1000
_LOOKS = 3
_Product = Callable[[], object]


def measure_ceilings(
    device: torch.device, *, watch: RoundWatch, budget_s: float = 6.0, patience_s: float = 3.0
) -> Ceilings:
    """Measure the ceilings of `device` with torch's current threads, in `budget_s` seconds or a little more.

    Products are of N(0, 1) squares, 256³ to 1536³ on a CPU, 4096³ and 8192³ on a GPU, each in several ways; bandwidth
    is taken at every size from the smallest cache's to memory's. Each ceiling is the best of at least 5 samples, taken
    in rounds of all, that nothing disturbed, or of 12 on a machine that is slow throughout (condition SLOW_ROUNDS).
    Raises: MachineDisturbed if `patience_s` of rounds were disturbed otherwise.
    """
    torch.manual_seed(0)
    clock: Clock = CudaClock() if device.type == "cuda" else CpuClock()

    def best(trials: Iterator[Trial], part: float) -> Rates:
        return best_rates(
            tuple(trials), now=clock.now, watch=watch, budget_s=part * budget_s, patience_s=part * patience_s
        )

    with torch.inference_mode():
        if device.type == "cuda":
            launches = best(_launches(device), 0.1)
            launch_s, n_slow = 1 / launches.per_s[_LAUNCH], launches.n_slow
            found = best(_on_cuda(device, clock, launch_s), 0.9)
        else:
            launch_s, n_slow = None, 0
            found = best(_on_cpu(device, clock), 1.0)
    rates = found.per_s
    products = _beginning_with(_PRODUCT, rates)
    return Ceilings(
        device=device_name(device),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        matmul_flop_per_s=products,
        copy_bytes_per_s=rates[COPY],
        vector_instruction_per_s=products["float32"] / 2,
        dispatch_s=1 / rates[_DISPATCH],
        launch_s=launch_s,
        bandwidth_bytes_per_s=_beginning_with(BANDWIDTH, rates),
        conditions={
            **fixed_conditions(device),
            MEMORY_SWINGS: round(found.typical_over_best[COPY], 3),
            SLOW_ROUNDS: max(n_slow, found.n_slow),
        },
    )


def _on_cpu(device: torch.device, clock: Clock) -> Iterator[Trial]:
    yield from _products(device, clock)
    yield _dispatches()
    yield from trials_on_cpu(n_threads=torch.get_num_threads())


def _on_cuda(device: torch.device, clock: Clock, launch_s: float) -> Iterator[Trial]:
    yield from _products(device, clock)
    yield _dispatches()
    yield from trials_on_cuda(device, launch_s=launch_s)


def _beginning_with(prefix: str, rates: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix(prefix): rate for name, rate in rates.items() if name.startswith(prefix)}


def _products(device: torch.device, clock: Clock) -> Iterator[Trial]:
    ways = (_by_mm, _by_linear, _by_float32, _by_onednn) if device.type == "cpu" else (_by_mm, _by_linear)
    for dtype in _DTYPES[device.type]:
        flop_per_s = dict.fromkeys(ways, math.inf)
        for n in _PRODUCT_SIZES[device.type]:
            flop = 2 * n**3
            fast = [way for way, rate in flop_per_s.items() if flop / rate <= _LONGEST_PRODUCT_S]
            if not fast:
                break
            left, right = (torch.randn(n, n, device=device).to(getattr(torch, dtype)) for _ in range(2))
            for way in fast:
                product = way(left, right)
                if product is None:
                    del flop_per_s[way]
                    continue
                product()
                seconds = min(clock.wall(product, calls=1) for _ in range(_LOOKS))
                flop_per_s[way] = flop / seconds
                calls = max(1, round(_SHORTEST_SAMPLE_S / seconds))
                yield Trial(f"{_PRODUCT}{dtype}", flop * calls, partial(clock.wall, product, calls=calls))


def _by_mm(left: torch.Tensor, right: torch.Tensor) -> _Product | None:
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out)


def _by_linear(left: torch.Tensor, right: torch.Tensor) -> _Product | None:
    # As modules multiply: the weight's rows lie in memory as columns of the product, which libraries pack otherwise.
    return lambda: torch.nn.functional.linear(left, right)


def _by_float32(left: torch.Tensor, right: torch.Tensor) -> _Product | None:
    # Of a half that the processor does not know, torch's own product reaches a tenth of what converting it does.
    if left.dtype is torch.float32:
        return None
    return lambda: torch.mm(left.float(), right.float()).to(left.dtype)


def _by_onednn(left: torch.Tensor, right: torch.Tensor) -> _Product | None:
    # On CPUs not made by Intel, MKL's float32 product reaches a fraction of what oneDNN's does.
    if not torch.backends.mkldnn.is_available():
        return None
    fused_linear = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001 - its only name
    try:
        weight = right.to_mkldnn()
        fused_linear(left, weight, None, "none", [], "")
    except RuntimeError:
        return None  # oneDNN has none of this dtype for this processor
    return lambda: fused_linear(left, weight, None, "none", [], "")


def _dispatches() -> Trial:
    one, clock = torch.zeros(1), CpuClock()
    return Trial(_DISPATCH, _CALLS, lambda: clock.wall(lambda: torch.relu(one), calls=_CALLS))


def _launches(device: torch.device) -> Iterator[Trial]:
    one = torch.zeros(1, device=device)
    yield Trial(_LAUNCH, 1, lambda: time_behind_blocked_stream(one.zero_, calls=200, block_s=0.02).device_time_s)

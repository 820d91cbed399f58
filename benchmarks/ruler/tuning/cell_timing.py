"""Measure one tuning cell: check every candidate against float64, then time them in alternating rounds."""

from __future__ import annotations

import gc
import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.attempt import is_device_fault
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.timing import sample_group
from benchmarks.ruler.providers.workload import error_rel, tolerance, workload
from benchmarks.ruler.tuning.cells import Measured
from fused_mlp.vocabulary import NumberFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.ruler.measure.timing import Sampling
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.tuning.candidates import Candidate, Machine
    from benchmarks.ruler.tuning.cells import Cell

SCREENED_ABOVE = 6
"""More candidates than this are looked at briefly first, and only the best go into the long comparison."""
BRIEF = Policy(budget_s=0.02, min_rounds=5, half_width=0.05, warm_up_s=0.03, least_warm_up_s=0.002)
TF32_UNIT = 2.0**-11
"""Half a unit in the last place of tf32's ten bits of fraction."""


class DeviceContextLost(Exception):
    """Raised when a candidate left the CUDA context unusable. candidate: its name; message: what happened."""

    def __init__(self, candidate: str, reason: str) -> None:
        super().__init__(reason)
        self.candidate = candidate


@dataclass(frozen=True, kw_only=True)
class CellMeasurement:
    """Measurements of a cell's candidates, the default first. disturbed: what disturbed the machine, or None."""

    measured: tuple[Measured, ...]
    disturbed: str | None


def measure_cell(
    cell: Cell,
    contenders: Sequence[Candidate],
    machine: Machine,
    *,
    crashed: Mapping[str, str],
) -> CellMeasurement:
    """Check and time all `contenders` at the cell's shapes; a wrong, unavailable or crashed one gets no time.

    crashed: names of candidates that brought an earlier process down, and how; they are not called.

    Raises: DeviceContextLost if one does so now.
    """
    found = {
        one.name: Measured(
            name=one.name,
            implementation=one.implementation,
            tiles=one.tiles,
            value=one.value,
            reason=crashed.get(one.name),
        )
        for one in contenders
    }
    disturbed: str | None = None
    times: list[dict[str, float]] = []
    with _precision(cell.number_format):
        for shape in cell.workload_shapes():
            calls = _correct_calls(cell, shape, contenders, machine, found)
            samplings = _sampled(calls, contenders, machine)
            disturbed = disturbed or next((each.disturbed for each in samplings.values() if each.disturbed), None)
            times.append({name: each.latency.median for name, each in samplings.items()})
            for name, sampling in samplings.items():
                device_s = machine.device_s(calls[name]) if machine.device_s else None
                latency = sampling.latency
                found[name] = replace(
                    found[name], seconds=latency.median, low_s=latency.low, high_s=latency.high, device_s=device_s
                )
            for name in set(calls) - set(samplings):
                found[name] = replace(found[name], reason="behind in the brief comparison")
    if found and next(iter(found.values())).value is not None:
        found = _scored(found, times)
    return CellMeasurement(measured=tuple(found.values()), disturbed=disturbed)


def _correct_calls(
    cell: Cell,
    shape: Shape,
    contenders: Sequence[Candidate],
    machine: Machine,
    found: dict[str, Measured],
) -> dict[str, Callable[[], object]]:
    """Return the calls whose first output is right; record the reason of the others in `found`."""
    # Outside inference_mode: weights of a model are no inference tensors, and some cannot be packed.
    load = workload(shape, device=machine.device)
    limit = tolerance(shape)
    if cell.number_format is NumberFormat.TF32:
        limit += 8 * TF32_UNIT
    calls: dict[str, Callable[[], object]] = {}
    with torch.inference_mode():
        reference = load.reference()
        for one in contenders:
            if found[one.name].reason is not None:
                continue
            try:
                function = one.build(load)
                one.take_turn()
                error = error_rel((function(load.x),), reference)
            except Exception as raised:  # whatever a kernel raises is its candidate's fate
                if is_device_fault(raised):
                    raise DeviceContextLost(one.name, _in_a_line(raised)) from raised
                found[one.name] = replace(found[one.name], reason=_in_a_line(raised))
                continue
            if not error <= limit:
                words = "holds NaN" if math.isnan(error) else f"is off by {error:.2g}"
                reason = f"wrong at {shape.label()}: {words}; rounding explains at most {limit:.2g}"
                found[one.name] = replace(found[one.name], reason=reason, seconds=None)
                continue
            found[one.name] = replace(found[one.name], error_rel=error)
            calls[one.name] = _one_call(function, load.x)
    return calls


def _one_call(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> Callable[[], object]:
    return lambda: function(x)


def _sampled(
    calls: Mapping[str, Callable[[], object]],
    contenders: Sequence[Candidate],
    machine: Machine,
) -> dict[str, Sampling]:
    if not calls:
        return {}
    turns = {one.name: one.take_turn for one in contenders}
    default = running = next(iter(calls))

    def announce(name: str) -> None:
        nonlocal running
        running = name
        turns[name]()

    def compare(some: Mapping[str, Callable[[], object]], policy: Policy) -> dict[str, Sampling]:
        return sample_group(
            some,
            baseline=default,
            clock=machine.clock,
            policy=policy,
            watch=machine.watch,
            announce=announce,
        )

    gc.disable()
    try:
        with torch.inference_mode():
            # Every value of a policy is needed at every shape.
            if len(calls) > SCREENED_ABOVE and contenders[0].value is None:
                brief = compare(calls, replace(BRIEF, min_sample_s=machine.sampling.min_sample_s))
                best = sorted(brief, key=lambda name: brief[name].latency.median)[: SCREENED_ABOVE - 1]
                calls = {name: call for name, call in calls.items() if name in best or name == default}
            return compare(calls, machine.sampling)
    except Exception as raised:
        # It gave a right result once; whatever it does now, it is no winner, and the device is not to be trusted.
        raise DeviceContextLost(running, _in_a_line(raised)) from raised
    finally:
        gc.enable()


def _scored(found: Mapping[str, Measured], times: Sequence[Mapping[str, float]]) -> dict[str, Measured]:
    """Score policy values by the geometric mean over shapes of their time over the best time."""
    scored = {}
    for name, one in found.items():
        if one.reason is not None or any(name not in at_shape for at_shape in times):
            scored[name] = replace(one, seconds=None, low_s=None, high_s=None)
            continue
        logs = [math.log(at_shape[name] / min(at_shape.values())) for at_shape in times]
        scored[name] = replace(one, seconds=math.exp(sum(logs) / len(logs)), low_s=None, high_s=None)
    return scored


@contextmanager
def _precision(number_format: NumberFormat) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if number_format is NumberFormat.TF32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _in_a_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]

"""How fast a whole model is eager, compiled and fused: paired samples by the ruler's rules, and what disturbed them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

import fused_mlp
from benchmarks.ruler.measure.clock import CpuClock
from benchmarks.ruler.measure.disturbances import Demand, MachineWatch
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.probe import Probe
from benchmarks.ruler.measure.timing import sample_group
from results.files.disturbances import disturbed_in_short

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from benchmarks.ruler.measure.statistics import MedianInterval
    from known_models.models import Model

ROWS = 16
POLICY = Policy(budget_s=2.0, least_s=1.0)
HEADS = ("model", "eager", "compiled is faster by", "fused is faster by", "machine")


class Timed:
    """Times models one after another; the machine's best speed is what it reached before the first."""

    def __init__(self) -> None:
        self._probe = Probe()
        readings = [self._probe.times_s() for _ in range(50)]
        self._best_s = {str(part): min(reading[part] for reading in readings) for part in readings[0]}

    def cells(self, model: Model) -> list[str]:
        """Return, in the order of HEADS after the first: eager's milliseconds, speedups, what disturbed them.

        Speedups are medians of the ratios within alternating rounds, with their 95 % intervals. The model is left as
        it was; the compiled and the fused one are copies.
        """
        calls, failed = _calls(model)
        demand = Demand(threads=torch.get_num_threads())
        watch = MachineWatch(demand, probe=self._probe, best_s=self._best_s)
        with torch.no_grad():
            found = sample_group(calls, baseline="eager", clock=CpuClock(), policy=POLICY, watch=watch)
        cells = [_milliseconds(found["eager"].latency)]
        cells += [failed[name] if name in failed else _times(found[name].speedup) for name in ("compiled", "fused")]
        disturbed = next((one.disturbed for one in found.values() if one.disturbed), None)
        return [*cells, f"disturbed: {disturbed_in_short(disturbed)}" if disturbed else "undisturbed"]


def _calls(model: Model) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    eager = model.module.eval()
    fused = copy.deepcopy(eager)
    fused_mlp.fuse(fused, mode="inference", rows=ROWS)
    contenders = {"eager": eager, "compiled": compiled(copy.deepcopy(eager)), "fused": fused}
    calls = {name: lambda each=each: each(**model.inputs) for name, each in contenders.items()}
    try:
        with torch.no_grad():
            for _ in range(3):
                calls["compiled"]()
    except Exception as error:  # noqa: BLE001 - whatever a compiler raises, the others are timed
        del calls["compiled"]
        return calls, {"compiled": f"does not compile: {type(error).__name__}"}
    return calls, {}


def compiled(module: nn.Module) -> Callable[..., Any]:
    """Return the module compiled as people do, with nothing left of what was compiled before."""
    torch.compiler.reset()
    made: Callable[..., Any] = torch.compile(module)
    return made


def _milliseconds(latency: MedianInterval) -> str:
    return f"{latency.median * 1e3:.3g} ms"


def _times(speedup: MedianInterval | None) -> str:
    return "–" if speedup is None else f"{speedup.median:.2f} ({speedup.low:.2f}–{speedup.high:.2f})"

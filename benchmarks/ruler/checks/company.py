"""Is a provider's time its own? In company, alone, and by torch's Timer in a fresh process, at the same shapes.

All of it several times: a machine moves a single comparison by more than what is asked.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import TYPE_CHECKING

from benchmarks.ruler.checks.conclusion import DISTURBED, concluded
from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import DeviceKind, contender_from_name
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.plan.units import percent, signed_percent
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.part_speed import disturbs_ratios
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.process import python_path
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.plan.points import Contender, Shape
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.lines import TimingLine
    from benchmarks.ruler.record.outcome import TimingOutcome

    Timings = Mapping[tuple[Shape, Contender], TimingLine]

PROVIDERS = ("eager", "compiled", "fused", "fused:packed")
AXES = replace(QUICK, name="company", providers=PROVIDERS, batches=(1, 16, 128, 1024), hiddens=(256, 512))
OPERATION = "mlp"
ROUNDS = 3
# Below so many seconds a call is short, and so much may lie between clocks.
_SHORT_S, _MOST_APART, _MOST_APART_IF_SHORT = 20e-6, 0.03, 0.05

# A process of its own per provider, with the allocator that ours have; the shapes on stdin, the seconds of a call of
# each on stdout.
_TIMER = """
import json, sys
from contextlib import suppress
import torch
from torch.utils.benchmark import Timer
from benchmarks.ruler.measure.allocator import AllocatorNotSet, set_allocator
from benchmarks.ruler.plan.points import Allocator, Shape, contender_from_name
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Built
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.codec import value_from_json

contender, threads = contender_from_name(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
with suppress(AllocatorNotSet):
    set_allocator(Allocator(sys.argv[3]))
found = []
for values in json.load(sys.stdin):
    load = workload(value_from_json(Shape, values), device=torch.device("cpu"))
    torch._dynamo.reset()
    built = providers.build(contender, load)
    if not isinstance(built, Built):
        found.append(None)
        continue
    with torch.inference_mode():
        call = one_call(load, built.function)
        call()
        timer = Timer("call()", globals={"call": call}, num_threads=threads)
        found.append(timer.blocked_autorange(min_run_time=0.5).median)
print(json.dumps(found))
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A provider at a shape, once: seconds of a call in company, alone and by torch's Timer, before and after both.

    speeds: of the machine in company and alone, 1 at its best; None if not known. taken: what else took the machine's
    time in either, or None. A provider that failed has no times and a `failure`.
    """

    provider: str
    shape: str
    company_s: float = math.nan
    alone_s: float = math.nan
    timers_s: tuple[float, float] = (math.nan, math.nan)
    speeds: tuple[float | None, float | None] = (None, None)
    taken: str | None = None
    failure: str | None = None

    @property
    def timer_s(self) -> float:
        """Mean of the Timer before and after, so that a drift cancels."""
        return fmean(self.timers_s)

    @property
    def limit(self) -> float:
        """How far the others may lie apart from the time in company, as a part of it."""
        return _MOST_APART_IF_SHORT if self.company_s < _SHORT_S else _MOST_APART

    @property
    def why_not_counted(self) -> str | None:
        """Return how the machine changed meanwhile, in words, or None: one that is slow throughout is the same."""
        before, after = self.timers_s
        if self.taken is not None:
            return self.taken
        if abs(before / after - 1) > self.limit:
            return f"the Timer moved by {signed_percent(after / before - 1)}"
        in_company, alone = self.speeds
        if in_company is None or alone is None:
            return None if in_company == alone else "the machine's speed is not known"
        if abs(in_company / alone - 1) > self.limit:
            return f"the machine ran at {percent(in_company)} of its best, and alone at {percent(alone)}"
        return None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A provider at a shape in all rounds; of those in which the machine was the same throughout the median is taken.

    alone, timer: how far the time in company lies above the others, as a part of them.
    """

    rounds: tuple[Row, ...]

    @property
    def counted(self) -> tuple[Row, ...]:
        """Rounds in which the machine was the same throughout."""
        return tuple(row for row in self.rounds if row.failure is None and row.why_not_counted is None)

    @property
    def failure(self) -> str | None:
        """Return why there is no time in some round, or None."""
        return next((row.failure for row in self.rounds if row.failure is not None), None)

    @property
    def company_s(self) -> float:
        """Seconds of a call in company."""
        return median(row.company_s for row in self._shown)

    @property
    def apart(self) -> tuple[float, float]:
        """How far that lies above the time alone and the Timer's, as a part of these."""
        alone = median(row.company_s / row.alone_s for row in self._shown)
        return alone - 1, median(row.company_s / row.timer_s for row in self._shown) - 1

    @property
    def limit(self) -> float:
        """How far they may lie apart."""
        return _MOST_APART_IF_SHORT if self.company_s < _SHORT_S else _MOST_APART

    @property
    def is_within(self) -> bool:
        """Whether company, Timer and solitude agree."""
        return all(abs(apart) <= self.limit for apart in self.apart)

    @property
    def _shown(self) -> tuple[Row, ...]:
        return self.counted or self.rounds


def rows(settings: Settings) -> Iterator[Row]:
    """Measure every provider in all three ways, `ROUNDS` times; the Timer before and after, so that a drift cancels."""
    shapes = [group.shape for group in groups(AXES, operation=OPERATION, device=DeviceKind.CPU)]
    timers = {name: timer_s(settings, name, shapes) for name in PROVIDERS}
    for number in range(ROUNDS):
        company = _times(settings, f"company-{number}", PROVIDERS)
        alone = {name: _times(settings, f"alone-{number}-{at}", (name,)) for at, name in enumerate(PROVIDERS)}
        before, timers = timers, {name: timer_s(settings, name, shapes) for name in PROVIDERS}
        for name in PROVIDERS:
            for at, shape in enumerate(shapes):
                key = (shape, contender_from_name(name))
                ours = [timings[key].outcome for timings in (company, alone[name])]
                yield _row(name, shape, ours, [found[name][at] for found in (before, timers)])


def _times(settings: Settings, run_id: str, providers: tuple[str, ...]) -> Timings:
    axes = replace(AXES, providers=providers)
    return measure(replace(settings, run_id=run_id), axes=axes, operation=OPERATION, tasks=(Task.TIME,)).timings


def _row(provider: str, shape: Shape, ours: Sequence[TimingOutcome], timers_s: Sequence[float | None]) -> Row:
    in_company, alone = ours
    before_s, after_s = timers_s
    named = Row(provider=provider, shape=shape.label())
    failed = next((one for one in ours if one.state is not State.OK), None)
    if failed is not None:
        return replace(named, failure=f"{failed.state}: {failed.reason}")
    if in_company.latency_s is None or alone.latency_s is None or before_s is None or after_s is None:
        return replace(named, failure="it could not be built for torch's Timer")
    return replace(
        named,
        company_s=in_company.latency_s,
        alone_s=alone.latency_s,
        timers_s=(before_s, after_s),
        speeds=(_speed(in_company), _speed(alone)),
        taken=next((one.disturbed for one in ours if disturbs_ratios(one.disturbed)), None),
    )


def _speed(outcome: TimingOutcome) -> float | None:
    speeds = [one.machine_speed for one in outcome.visits if one.machine_speed is not None]
    return median(speeds) if speeds else None


def timer_s(settings: Settings, provider: str, shapes: Sequence[Shape]) -> list[float | None]:
    """Return the median seconds of a call at each of `shapes` by torch's Timer, in a new process; None: no call."""
    done = subprocess.run(
        [sys.executable, "-c", _TIMER, provider, str(settings.threads), settings.allocator],
        input=json.dumps([json_from_value(shape) for shape in shapes]),
        env=environment_from_settings(settings) | {"PYTHONPATH": python_path()},
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: list[float | None] = json.loads(done.stdout)
    return found


def report(found: Sequence[Row]) -> tuple[list[str], Conclusion]:
    """Return the lines of a table, and whether all three ways agree wherever the machine was the same meanwhile."""
    lines = [f"{'provider':14} {'shape':44} {'company':>10} {'alone':>8} {'Timer':>8}"]
    rounds: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        rounds.setdefault((row.provider, row.shape), []).append(row)
    cases = {key: Case(rounds=tuple(some)) for key, some in rounds.items()}
    for (provider, shape), case in cases.items():
        if case.failure is not None:
            lines.append(f"{provider:14} {shape:44} {case.failure}")
            continue
        alone, timer = case.apart
        mark = "" if case.is_within else f"  beyond {percent(case.limit)}"
        if 0 < len(case.counted) < len(case.rounds):
            mark += f"  {len(case.counted)} of {len(case.rounds)} rounds counted"
        if not case.counted:
            mark += f"  not counted: {case.rounds[-1].why_not_counted}"
        lines.append(
            f"{provider:14} {shape:44} {case.company_s * 1e6:7.1f} µs "
            f"{signed_percent(alone):>9} {signed_percent(timer):>9}{mark}"
        )
    timed = [case for case in cases.values() if case.failure is None]
    counted = [case for case in timed if case.counted]
    n_within, n_failed = sum(case.is_within for case in counted), len(cases) - len(timed)
    words = f"{n_within} of {len(counted)} within 3 % of both (5 % below 20 µs)"
    if n_failed:
        words += f"; {n_failed} have no time"
    return lines, concluded(
        words,
        holds=n_within == len(counted) and not n_failed,
        n_counted=len(counted) + n_failed,
        not_counted={DISTURBED: len(timed) - len(counted)},
    )

"""Check every fused kernel against float64: odd shapes, all dtypes and activations, gradients, launches."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.campaign.settings import Budget, CampaignSettings, Report, Status, code_measured
from benchmarks.ruler.expectation.comparison import compared
from benchmarks.ruler.expectation.declarations import expectation
from benchmarks.ruler.plan.points import (
    BASELINE,
    CachePolicy,
    Contender,
    DeviceKind,
    Group,
    Operation,
    Pass,
    Shape,
    contender_from_name,
)
from benchmarks.ruler.record.durable import append_durably
from benchmarks.ruler.record.outcome import FAILURES, ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.worker.outcomes import outcomes_of_group
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

# Eager is held to the same tolerance: where it fails too, it is the tolerance that is wrong.
CONTENDERS = (
    *(BASELINE, "fused", "fused-hoisted", "fused-captured", "fused-pure"),
    *("fused-pointwise", "fused-epilogue", "fused-cublaslt", "fused-single", "fused-cuda"),
    *("fused:packed", "fused-cpp:packed", "fused-onednn:packed"),
)
# (batch, dim, hidden): one row, primes, either side of a tile's edge, and wide enough for several tiles of each.
_ODD_SIZES = {
    Budget.QUICK: ((3, 17, 31), (64, 64, 256)),
    Budget.HALF_HOUR: ((1, 64, 256), (3, 17, 31), (127, 256, 300)),
    Budget.FULL: ((1, 64, 256), (3, 17, 31), (17, 130, 127), (64, 128, 512), (127, 256, 300), (1000, 96, 1000)),
}
_COUNTED_SIZE = (64, 64, 256)
_ACTIVATIONS = {
    Budget.QUICK: ("gelu", "silu"),
    Budget.HALF_HOUR: ("gelu_tanh", "silu"),
    Budget.FULL: ("relu", "gelu", "gelu_tanh", "silu", "quick_gelu"),
}
# What is measured comes first, so that time that ends has served it.
_DTYPES = {
    (DeviceKind.CPU, Budget.QUICK): ("bfloat16", "float32"),
    (DeviceKind.CPU, Budget.HALF_HOUR): ("bfloat16",),
    (DeviceKind.CPU, Budget.FULL): ("bfloat16", "float32", "float16"),
    (DeviceKind.CUDA, Budget.QUICK): ("bfloat16", "float16", "float32"),
    (DeviceKind.CUDA, Budget.HALF_HOUR): ("bfloat16",),
    (DeviceKind.CUDA, Budget.FULL): ("bfloat16", "float16", "float32"),
}
# Longer than compiling any one kernel takes, CUDA C++ included.
_POINT_LIMIT_S = 150.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict on one contender at one shape. unexpected: how its kernels differ from the declared ones."""

    task: Task
    shape: Shape
    contender: Contender
    state: State
    reason: str | None = None
    error_rel: float | None = None
    provider_detail: str | None = None
    unexpected: str | None = None

    @property
    def is_failure(self) -> bool:
        """True if it was wrong, crashed or hung, or ours ran other kernels than declared."""
        ours = self.contender.provider.startswith("fused")
        return self.state in FAILURES or (ours and self.unexpected is not None)


def check_kernels(settings: CampaignSettings) -> Report:
    """Check what is not yet checked of the current code, until the time is up."""
    path = settings.out / "correctness.jsonl"
    code = code_measured(settings.ruler)
    known = {(one.task, one.shape, one.contender): one for one in _read(path, code=code, device=settings.device)}
    # The counted size may be one of the odd ones, too.
    todo = [(task, group) for task, group in dict.fromkeys(_all(settings)) if not _is_known(known, task, group)]
    before = len(known)
    if todo:
        ruler = settings.ruler
        locked = machine_lock(ruler.lock_file, say=print, waits=ruler.waits_for_lock)
        with locked as lock, _worker(settings, lock) as worker:
            if (report := _why_not_here(worker, settings)) is not None:
                return report
            for task, group in todo:
                if settings.seconds_left() == 0:
                    break
                found = _verdicts(worker, task, group, known=known, device=settings.device)
                _append(path, found, code=code, device=settings.device)
                known |= {(one.task, one.shape, one.contender): one for one in found}
                for one in found:
                    if one.is_failure:
                        print(_told(one), flush=True)  # noqa: T201 - a command
    return _report(settings, known.values(), measured=len(known) - before)


def _all(settings: CampaignSettings) -> Iterator[tuple[Task, Group]]:
    """Yield the groups to check and to count kernels of: per dtype and pass the counted size, then the odd ones."""
    contenders = tuple(map(contender_from_name, CONTENDERS))
    dtypes, activations = _DTYPES[settings.device, settings.budget], _ACTIVATIONS[settings.budget]
    for dtype, pass_ in itertools.product(dtypes, Pass):
        for operation in Operation if dtype == dtypes[0] else ():
            group = Group(shape=_shape(operation, pass_, dtype, activations[0], _COUNTED_SIZE), contenders=contenders)
            # The check says what `fused` chose, which is what it is held to.
            yield Task.CHECK, group
            yield Task.PROFILE, group
        for size, operation in itertools.product(_ODD_SIZES[settings.budget], Operation):
            bare = (None,) if operation is Operation.LINEAR else ()
            for activation in (*bare, *activations):
                shape = _shape(operation, pass_, dtype, activation, size)
                yield Task.CHECK, Group(shape=shape, contenders=contenders)


def _shape(operation: Operation, pass_: Pass, dtype: str, activation: str | None, size: tuple[int, int, int]) -> Shape:
    batch, dim, hidden = size
    return Shape(
        operation=operation,
        pass_=pass_,
        dtype=dtype,
        activation=activation,
        batch=batch,
        hidden=hidden,
        dim=dim,
        cache=CachePolicy.WARM,
    )


def _is_known(known: Mapping[tuple[Task, Shape, Contender], Verdict], task: Task, group: Group) -> bool:
    return all((task, group.shape, contender) in known for contender in group.contenders)


def _worker(settings: CampaignSettings, lock: int) -> WorkerProcess:
    return WorkerProcess(
        device=settings.device,
        threads=settings.ruler.threads,
        point_limit_s=_POINT_LIMIT_S,
        provider_module=settings.ruler.provider_module,
        inherited=(lock,),
    )


def _why_not_here(worker: WorkerProcess, settings: CampaignSettings) -> Report | None:
    if (death := worker.start()) is not None:
        return Report(status=Status.FAILED, words=f"no worker starts here: {death.reason}")
    if worker.hello and worker.hello["device"] != settings.device:
        return Report(status=Status.ABSENT, words=f"torch sees no {settings.device} device here; nothing was checked")
    return None


def _verdicts(
    worker: WorkerProcess,
    task: Task,
    group: Group,
    *,
    known: Mapping[tuple[Task, Shape, Contender], Verdict],
    device: DeviceKind,
) -> list[Verdict]:
    # Each shape would wait as long again for one that hangs.
    hung = {one.contender: one.shape for one in known.values() if one.state is State.TIMED_OUT}
    asked = tuple(each for each in group.contenders if each not in hung)
    request = Request(task=task, shape=group.shape, contenders=asked, budget_s=0.0)
    outcomes, _ = outcomes_of_group(worker, request)
    found = [
        Verdict(
            task=task,
            shape=group.shape,
            contender=each,
            state=State.UNAVAILABLE,
            reason=f"not checked, as it gave no sign at {hung[each].label()}",
        )
        for each in group.contenders
        if each not in asked
    ]
    for contender, outcome in outcomes.items():
        checked = known.get((Task.CHECK, group.shape, contender))
        detail = checked.provider_detail if checked else None
        found.append(_verdict(task, group.shape, contender, outcome, device=device, detail=detail))
    return found


def _verdict(  # noqa: PLR0913 - what identifies a verdict, and what it is made of
    task: Task,
    shape: Shape,
    contender: Contender,
    outcome: TimingOutcome | ProfileOutcome,
    *,
    device: DeviceKind,
    detail: str | None,
) -> Verdict:
    verdict = Verdict(
        task=task,
        shape=shape,
        contender=contender,
        state=outcome.state,
        reason=outcome.reason,
        provider_detail=detail,
    )
    if isinstance(outcome, TimingOutcome):
        return replace(verdict, error_rel=outcome.error_rel, provider_detail=outcome.provider_detail)
    expected = expectation(contender, shape, device=device, provider_detail=detail)
    return replace(verdict, unexpected=compared(outcome, expected, shape=shape, device=device).unexpected)


def _append(path: Path, found: Sequence[Verdict], *, code: str, device: DeviceKind) -> None:
    lines = [{"code": code, "device": device, **asdict(one), "contender": str(one.contender)} for one in found]
    append_durably(path, "".join(json.dumps(line) + "\n" for line in lines))


def _read(path: Path, *, code: str, device: DeviceKind) -> Iterator[Verdict]:
    """Read the verdicts recorded for this code on this device; a torn line is ignored."""
    if not path.exists():
        return
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            values: dict[str, Any] = json.loads(text)
        except ValueError:
            continue
        if (values.pop("code"), values.pop("device")) != (code, device):
            continue
        shape = values.pop("shape")
        yield Verdict(
            task=Task(values.pop("task")),
            shape=Shape(
                operation=Operation(shape.pop("operation")),
                pass_=Pass(shape.pop("pass_")),
                cache=CachePolicy(shape.pop("cache")),
                **shape,
            ),
            contender=contender_from_name(values.pop("contender")),
            state=State(values.pop("state")),
            **values,
        )


def _told(one: Verdict) -> str:
    what = one.unexpected if one.state is State.OK else f"{one.state}: {one.reason}"
    return f"  {one.contender}, {one.shape.label()}: {what}"


def _report(settings: CampaignSettings, known: Iterable[Verdict], *, measured: int) -> Report:
    asked = {(task, group.shape) for task, group in _all(settings)}
    found = [one for one in known if (one.task, one.shape) in asked]
    wanted = len(asked) * len(CONTENDERS)
    states = Counter(one.state for one in found)
    failures = [one for one in found if one.is_failure]
    words = f"{states[State.OK]} right, {states[State.UNAVAILABLE]} unavailable, {len(failures)} failed"
    words += f" of {wanted}; {measured} of them now" if measured else f" of {wanted}; nothing was left to check"
    for one in failures:
        print(_told(one))  # noqa: T201 - a command
    surprising = [one for one in found if one.unexpected and not one.is_failure]
    for one in surprising:
        print(f"  not ours, and no failure:{_told(one)}")  # noqa: T201 - the same
    if failures:
        return Report(status=Status.FAILED, words=words, measured=measured)
    status = Status.DONE if len(found) >= wanted else Status.UNFINISHED
    return Report(status=status, words=words, measured=measured)

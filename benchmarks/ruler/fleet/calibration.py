"""Calibration of a host: twenty points of the baseline and the ceilings, before it measures anything of a sweep."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import UnfitHost
from benchmarks.ruler.fleet.admission import Calibration, HostFile, class_path, host_file, host_path, unfit_hosts
from benchmarks.ruler.fleet.folder import host_folder, write_new_value, write_value
from benchmarks.ruler.fleet.shards import key_of
from benchmarks.ruler.plan.axes import QUICK, all_groups
from benchmarks.ruler.plan.points import BASELINE, Contender, Operation, Pass
from benchmarks.ruler.record.journal import now
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings
from benchmarks.ruler.worker.outcomes import outcomes_of_group
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.ruler.fleet.host import Host
    from benchmarks.ruler.fleet.shards import Fleet
    from benchmarks.ruler.plan.points import DeviceKind, Shape
    from benchmarks.ruler.plan.settings import Settings

# Twelve forward, eight with gradients: calls that cost most, products, small and large data.
_AXES = replace(QUICK, name="calibration", providers=(BASELINE,))
_GRADIENTS = replace(_AXES, operations=(Operation.MLP, Operation.GATED_MLP), passes=(Pass.FORWARD_BACKWARD,))
# The better of so many: what a host can do, and not what disturbed it.
_TIMES, _BUDGET_S = 2, 0.15
LONGEST_KEPT = timedelta(hours=24)
SOONEST_AGAIN = timedelta(minutes=10)
"""An unfit host may have been mended: after so long it is calibrated again when it is given a shard."""


def shapes_of_calibration(device: DeviceKind) -> tuple[Shape, ...]:
    """Return the twenty shapes."""
    groups = [
        group for axes in (_AXES, _GRADIENTS) for group in all_groups(axes, operations=axes.operations, device=device)
    ]
    return tuple(group.shape for group in groups)


def admit(folder: Path, fleet: Fleet, host: Host, settings: Settings, *, say: Callable[[str], None]) -> None:
    """Admit this host to the fleet, by its class and its calibration. The caller holds the machine's lock.

    Raises: UnfitHost, with the figures.
    """
    path = host_path(folder, host.name)
    _found_class(folder, host)
    if _is_due(host_file(folder, host.name), host, is_unfit=_why_unfit(folder, fleet, host) is not None):
        say("calibration: 20 points of eager, and the ceilings")
        write_value(path, HostFile(host=host, calibration=calibration_of(fleet, settings)))
    if reason := _why_unfit(folder, fleet, host):
        raise UnfitHost(f"host {host.name}: {reason}")


def calibration_of(fleet: Fleet, settings: Settings) -> Calibration:
    """Measure the points of calibration on this host. Raises: UnfitHost if they cannot be."""
    times_s: dict[str, float] = {}
    disturbed: set[str] = set()
    calm: set[str] = set()
    with WorkerProcess(
        device=fleet.device, threads=fleet.threads, allocator=settings.allocator, point_limit_s=settings.point_limit_s
    ) as worker:
        if death := worker.start():
            raise UnfitHost(f"no worker starts on it: {death.reason}")
        found = (worker.hello or {}).get("device")
        if found != fleet.device:
            raise UnfitHost(f"torch finds {found} on it, and the shard is for {fleet.device}")
        for _ in range(_TIMES):
            for shape in shapes_of_calibration(fleet.device):
                outcome = _timed(worker, shape)
                key = key_of(shape)
                times_s[key] = min(outcome.latency_s or 0.0, times_s.get(key, float("inf")))
                (disturbed if outcome.disturbed else calm).add(key)
        ceilings = _ceilings(worker, fleet, settings)
    return Calibration(measured_at=now(), times_s=times_s, ceilings=ceilings, n_disturbed=len(disturbed - calm))


def _timed(worker: WorkerProcess, shape: Shape) -> TimingOutcome:
    eager = Contender(provider=BASELINE)
    request = Request(task=Task.TIME, shape=shape, contenders=(eager,), budget_s=_BUDGET_S)
    outcome = outcomes_of_group(worker, request)[0][eager]
    if not isinstance(outcome, TimingOutcome) or outcome.state is not State.OK:
        raise UnfitHost(f"eager is {outcome.state} at {shape.label()} on it: {outcome.reason}")
    return outcome


def _ceilings(worker: WorkerProcess, fleet: Fleet, settings: Settings) -> dict[str, float]:
    """Return the host's ceilings, which its sweep will find kept; none where the machine was disturbed."""
    environment = environment_name(fleet.device, settings)
    kept = SweepCeilings(settings.data_dir, machine=fleet.machine, environment=environment, since=None)
    kept.ensure(worker, may_measure=settings.measures_ceilings)
    if kept.value is None:
        return {}
    products = {f"product {dtype}": rate for dtype, rate in kept.value.matmul_flop_per_s.items()}
    return {**products, "copy": kept.value.copy_bytes_per_s}


def _is_due(known: HostFile | None, host: Host, *, is_unfit: bool) -> bool:
    if known is None or known.host != host:
        return True
    age = datetime.now(UTC) - datetime.fromisoformat(known.calibration.measured_at)
    return age > (SOONEST_AGAIN if is_unfit else LONGEST_KEPT)


def _found_class(folder: Path, host: Host) -> None:
    """Let this host say what the class is, unless another one has."""
    write_new_value(class_path(folder), host.kind)


def _why_unfit(folder: Path, fleet: Fleet, host: Host) -> str | None:
    return unfit_hosts(folder, tolerance=fleet.tolerance).get(host_folder(folder, host.name).name)

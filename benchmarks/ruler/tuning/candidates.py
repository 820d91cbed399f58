"""Candidates of a tuning cell: CPU policy values, packings, or fusion levels and their tiles."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import fused_mlp
from benchmarks.ruler.measure.clock import CpuClock, CudaClock, time_behind_blocked_stream
from benchmarks.ruler.measure.conditions import fixed_conditions
from benchmarks.ruler.measure.disturbances import Demand, MachineWatch
from benchmarks.ruler.measure.gpu import GpuWatch, gpu_state
from benchmarks.ruler.measure.policy import Policy as SamplingPolicy
from benchmarks.ruler.measure.statistics import median_interval
from benchmarks.ruler.plan.points import DeviceKind, Weights
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.fused import build_fused
from benchmarks.ruler.tuning.cells import POLICY_VALUES, Cell, Question, TuningConditions
from benchmarks.ruler.worker.policies import LEAST_SAMPLE_ON_CUDA_S
from fused_mlp.choice.choices import CudaDevice, cuda_device
from fused_mlp.choice.implementations import why_not_for_shape
from fused_mlp.choice.rules import Sizes, ranked_by_rule
from fused_mlp.native.build import set_policy
from fused_mlp.tuned import Policy, cpu_name
from fused_mlp.vocabulary import CUDA_LEVELS, Implementation, NumberFormat, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.ruler.measure.clock import Clock
    from benchmarks.ruler.measure.kept_chunks import Watch
    from benchmarks.ruler.providers.workload import Workload

_BUDGET_S = 0.25
_BESIDE_THE_RULE = (Implementation.CUDA,)
_BEHIND_CALLS, _BEHIND_PASSES, _BLOCK_S = 20, 5, 0.005


class CannotBuild(Exception):
    """Raised when a candidate cannot run here; the message is the reason."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One candidate. name: unique in its cell; build: workload → function of x.

    build raises CannotBuild. take_turn: done before each of its calls that is timed or checked, untimed itself.
    """

    name: str
    build: Callable[[Workload], Callable[[torch.Tensor], torch.Tensor]]
    implementation: Implementation | None = None
    tiles: Mapping[str, Any] = field(default_factory=dict)
    value: int | None = None
    take_turn: Callable[[], None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Device under tuning, with injected instruments.

    Attributes:
        device: where tensors are.
        sampling: how well each candidate is measured.
        cuda: what choices on CUDA depend on; None on a CPU.
        device_s: seconds of the kernels of one call; None where the call is all there is.
        why_not: what cannot run there at all, in words.
    """

    kind: DeviceKind
    device: torch.device
    circumstances: TuningConditions
    clock: Clock
    watch: Watch
    sampling: SamplingPolicy
    cuda: CudaDevice | None = None
    device_s: Callable[[Callable[[], object]], float] | None = None
    why_not: Callable[[Operation, Implementation], str | None] = lambda *_: None


def this_machine(kind: DeviceKind) -> Machine:
    """Return this machine with real instruments."""
    torch_version = str(torch.__version__)
    demand = Demand(threads=torch.get_num_threads(), is_on_host=kind is DeviceKind.CPU)
    watch = MachineWatch(demand, probe=None)
    if kind is DeviceKind.CPU:
        return Machine(
            kind=kind,
            device=torch.device("cpu"),
            circumstances=TuningConditions(
                device=cpu_name(),
                n_threads=torch.get_num_threads(),
                torch=torch_version,
                triton=None,
                source=source_hash(),
            ),
            clock=CpuClock(),
            watch=watch,
            sampling=SamplingPolicy(budget_s=_BUDGET_S),
        )
    device = torch.device("cuda", torch.cuda.current_device())
    triton_version = fixed_conditions(device)["triton"]
    known = cuda_device(device.index)
    return Machine(
        kind=kind,
        device=device,
        circumstances=TuningConditions(
            device=known.name,
            n_threads=None,
            torch=torch_version,
            triton=str(triton_version) if triton_version else None,
            source=source_hash(),
        ),
        clock=CudaClock(),
        watch=GpuWatch(watch, read=lambda: gpu_state(device)),
        sampling=SamplingPolicy(budget_s=_BUDGET_S, min_sample_s=LEAST_SAMPLE_ON_CUDA_S),
        cuda=known,
        device_s=_device_s,
        why_not=lambda operation, each: fused_mlp.why_unavailable(operation, device=device, implementation=each),
    )


def source_hash() -> str:
    """Hash the sources of the installed fused_mlp, without the tuned table."""
    package = Path(fused_mlp.__file__).parent
    digest = hashlib.sha256()
    suffixes = {".py", ".cpp", ".h", ".cu", ".cuh"}
    for path in sorted(package.rglob("*")):
        if path.suffix in suffixes and path.name != "_version.py":
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def candidates(cell: Cell, machine: Machine, *, most_tiles: int | None = None) -> tuple[Candidate, ...]:
    """Return the candidates of `cell` on `machine`, the default (the rule's choice) first.

    most_tiles: tiles of a level beside the rule's own, the first that tuning would try; None for all.
    """
    if cell.question is not Question.WAY:
        return tuple(_values(cell))
    if machine.cuda is None:
        return tuple(_packings(cell))
    return tuple(_levels(cell, machine, machine.cuda, most_tiles=most_tiles))


def _values(cell: Cell) -> Iterator[Candidate]:
    general: int = getattr(Policy(), cell.question)
    layout = Weights(cell.weights.value)
    implementation = Implementation.CPP if layout is Weights.PACKED else None
    for value in sorted(POLICY_VALUES[cell.question], key=lambda value: value != general):
        policy = replace(cell.others or Policy(), **{str(cell.question): value})
        yield Candidate(
            name=str(value),
            value=value,
            build=partial(_function, weights=layout, implementation=implementation),
            take_turn=_follower(cell, policy),
        )


def _packings(cell: Cell) -> Iterator[Candidate]:
    for implementation in (Implementation.CPP, Implementation.ONEDNN):
        yield Candidate(
            name=str(implementation),
            implementation=implementation,
            build=partial(_function, weights=Weights.PACKED, implementation=implementation),
            take_turn=_follower(cell, cell.others or Policy()),
        )


def _follower(cell: Cell, policy: Policy) -> Callable[[], None]:
    return partial(set_policy, policy, operation=cell.operation, dtype=getattr(torch, cell.number_format))


def _levels(cell: Cell, machine: Machine, device: CudaDevice, *, most_tiles: int | None) -> Iterator[Candidate]:
    from fused_mlp.choice.cuda_levels import Shape, values_from_tiles  # noqa: PLC0415 - needs triton

    ((rows, dim, hidden),) = cell.shapes
    n_out = hidden if cell.operation is Operation.LINEAR else dim
    dtype = torch.float32 if cell.number_format is NumberFormat.TF32 else getattr(torch, cell.number_format)
    sizes = {"rows": rows, "dim": dim, "hidden": hidden, "n_out": n_out}
    possible = [
        each
        for each in CUDA_LEVELS
        if machine.why_not(cell.operation, each) is None
        and why_not_for_shape(
            cell.operation,
            implementation=each,
            **sizes,
            dtype=dtype,
            capability=device.capability,
            activation=cell.activation,
        )
        is None
    ]
    by_rule = [each for each in possible if each not in _BESIDE_THE_RULE]
    asked = Sizes(operation=cell.operation, number_format=cell.number_format, **sizes)
    ranked = ranked_by_rule(asked, device.ceilings, possible=by_rule, capability=device.capability)
    levels = import_module(f"fused_mlp.{cell.operation}.cuda").LEVELS
    shape = Shape(n_rows=rows, dim=dim, hidden=hidden, n_out=n_out, dtype=dtype, capability=device.capability)
    others = [each for each in possible if each not in by_rule]
    for each in [*(implementation for implementation, _ in ranked), *others]:
        launch = levels[each].launch
        for tiles in (None, *tuple(levels[each].candidates(shape))[:most_tiles]):
            values = values_from_tiles(tiles)
            words = " ".join(f"{name}={value}" for name, value in values.items())
            yield Candidate(
                name=f"{each} {words or 'by its rule'}",
                implementation=each,
                tiles=values,
                build=partial(_launched, launch=launch, tiles=tiles),
            )


def _launched(
    load: Workload,
    launch: Callable[..., torch.Tensor],
    tiles: Any | None,  # noqa: ANN401 - each kernel has its own kind
) -> Callable[[torch.Tensor], torch.Tensor]:
    weights, activation = load.module.weights(), load.shape.activation
    return lambda x: launch(x, *weights, activation=activation, tiles=tiles)


def _function(load: Workload, weights: Weights, implementation: str | None) -> Callable[[torch.Tensor], torch.Tensor]:
    built = build_fused(load, weights=weights, implementation=implementation)
    if isinstance(built, Unavailable):
        raise CannotBuild(built.reason)
    return built.function


def _device_s(call: Callable[[], object]) -> float:
    passes = [time_behind_blocked_stream(call, calls=_BEHIND_CALLS, block_s=_BLOCK_S) for _ in range(_BEHIND_PASSES)]
    return median_interval([one.device_time_s for one in passes]).median

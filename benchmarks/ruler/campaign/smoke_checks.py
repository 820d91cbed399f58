"""First checks of kernels on a device: right at a few shapes, the same by every launch path, graph and stream.

What fails here makes every time that is measured afterwards worthless.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.plan.points import CachePolicy, Operation, Pass, Shape, contender_from_name
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.workload import error_rel, tolerance, workload
from benchmarks.ruler.record.outcome import State

if TYPE_CHECKING:
    from benchmarks.ruler.providers.workload import Workload

_LEVELS = ("fused-pointwise", "fused-epilogue", "fused-cublaslt", "fused-single", "fused-cuda", "fused")
_ON_CPU = ("fused-pure", "fused", "fused:packed")
# (batch, dim, hidden): a row, an odd block, rows of split-hidden and rows of large tiles.
_SIZES = {
    "cuda": ((1, 1024, 4096), (17, 512, 2048), (64, 1024, 4096), (512, 1024, 4096)),
    "cpu": ((1, 64, 256), (17, 128, 512), (64, 64, 256), (96, 64, 256)),
}
_SPLIT_HIDDEN, _LARGE = (16, 1024, 4096), (4096, 1024, 4096)
_REPLAYS, _ROUNDS_OF_STREAMS, _REPEATS, _FIRST_CALLS = 5, 20, 50, 3
_ACTIVATIONS = {Operation.LINEAR: "gelu_tanh", Operation.MLP: "gelu_tanh", Operation.GATED_MLP: "silu"}
_SANITIZER = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")
_LONGEST_SANITIZED_S = 60.0


class Mark(StrEnum):
    """Result of a check. ABSENT: there is nothing to check here."""

    RIGHT = "right"
    WRONG = "wrong"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of a check, and why it is not RIGHT."""

    mark: Mark
    reason: str | None = None


RIGHT = Finding(mark=Mark.RIGHT)
Check = Callable[[], Finding]
Function = Callable[[torch.Tensor], torch.Tensor]


def checks(device: torch.device) -> dict[str, Check]:
    """Return all checks of `device` by name, in order: what every kernel needs comes first."""
    on_gpu = device.type == "cuda"
    found: dict[str, Check] = {}
    names = _LEVELS if on_gpu else _ON_CPU
    for size, operation, name in product(_SIZES[device.type], Operation, names):
        shape = _shape(operation, size)
        found[f"{name}, {shape.label()}"] = partial(_is_right, shape, name, device)
    if not on_gpu:
        return found
    for operation in Operation:
        shape = _shape(operation, _SPLIT_HIDDEN)
        found[f"by recipe: {shape.label()}"] = partial(_goes_by_recipe, shape, device)
    for operation, name in product(Operation, _LEVELS):
        shape = _shape(operation, _SPLIT_HIDDEN)
        found[f"launch paths: {name}, {shape.label()}"] = partial(_has_same_bits, shape, name, device)
    for operation in Operation:
        shape = _shape(operation, _SPLIT_HIDDEN)
        found[f"graph: {shape.label()}"] = partial(_is_replayed, shape, device)
    for operation in (Operation.MLP, Operation.GATED_MLP):
        split, large = _shape(operation, _SPLIT_HIDDEN), _shape(operation, _LARGE)
        found[f"two streams: {split.label()}"] = partial(_is_right_on_two_streams, split, device)
        found[f"again and again: {split.label()}"] = partial(_is_right_again, split, device)
        for name, shape in (("fused-single", split), ("fused-epilogue", large)):
            checked = f"{name}, {shape.label()}"
            found[f"sanitizer: {checked}"] = partial(_is_sanitary, operation, name, shape)
    return found


def _shape(operation: Operation, size: tuple[int, int, int]) -> Shape:
    batch, dim, hidden = size
    return Shape(
        operation=operation,
        pass_=Pass.FORWARD,
        dtype="bfloat16",
        activation=_ACTIVATIONS[operation],
        batch=batch,
        hidden=hidden,
        dim=dim,
        cache=CachePolicy.WARM,
    )


def _is_right(shape: Shape, name: str, device: torch.device) -> Finding:
    load = workload(shape, device=device)
    with torch.inference_mode():
        outcome, _ = attempt(contender_from_name(name), load, load.reference())
    if outcome.state is State.UNAVAILABLE:
        return Finding(mark=Mark.ABSENT, reason=outcome.reason)
    return RIGHT if outcome.state is State.OK else Finding(mark=Mark.WRONG, reason=f"{outcome.state}: {outcome.reason}")


def _has_same_bits(shape: Shape, name: str, device: torch.device) -> Finding:
    """Compare each way to launch a kernel with the first; called twice, for a first call goes through Triton's JIT."""
    from fused_mlp.gpu.launch import LaunchPath, launching_through  # noqa: PLC0415 - needs triton

    load = workload(shape, device=device)
    with torch.inference_mode(), _in_order():
        function = _function(load, name)
        if isinstance(function, Unavailable):
            return Finding(mark=Mark.ABSENT, reason=function.reason)
        outs = {}
        for path in LaunchPath:
            if path in {LaunchPath.INTERPRETER, LaunchPath.AHEAD}:  # neither starts a kernel here
                continue
            with launching_through(path):
                function(load.x)
                outs[path] = function(load.x).clone()
    first, *others = outs
    wrong = [str(path) for path in others if not torch.equal(outs[path], outs[first])]
    return Finding(mark=Mark.WRONG, reason=f"{', '.join(wrong)}: other bits than {first}") if wrong else RIGHT


def _goes_by_recipe(shape: Shape, device: torch.device) -> Finding:
    """Call `fused` as a user does: its first calls go the long way, and make a recipe that all others go by."""
    from fused_mlp.choice.call_recipes import why_no_recipes  # noqa: PLC0415 - needs triton
    from fused_mlp.native import fast_calls  # noqa: PLC0415 - with it

    load = workload(shape, device=device)
    with torch.inference_mode():
        finding = _compared(load, "fused", times=_FIRST_CALLS)
        if finding is not RIGHT:
            return finding
        if reason := why_no_recipes():
            return Finding(mark=Mark.ABSENT, reason=reason)
        before = fast_calls.count_by_recipe()
        finding = _compared(load, "fused", times=_REPLAYS)
    n_by_recipe = fast_calls.count_by_recipe() - before
    if finding is RIGHT and n_by_recipe < _REPLAYS:
        return Finding(
            mark=Mark.WRONG, reason=f"of {_REPLAYS} calls {n_by_recipe} went by recipe, the rest the long way"
        )
    return finding


def _is_replayed(shape: Shape, device: torch.device) -> Finding:
    load = workload(shape, device=device)
    with torch.inference_mode():
        return _compared(load, "fused-captured", times=_REPLAYS)


def _is_right_again(shape: Shape, device: torch.device) -> Finding:
    load = workload(shape, device=device)
    with torch.inference_mode():
        return _compared(load, "fused-single", times=_REPEATS)


def _compared(load: Workload, name: str, *, times: int) -> Finding:
    """Compare the results of `times` new inputs with float64."""
    function = _function(load, name)
    if isinstance(function, Unavailable):
        return Finding(mark=Mark.ABSENT, reason=function.reason)
    for number in range(1, times + 1):
        x = torch.randn_like(load.x)
        if reason := _why_wrong(load, x, function(x)):
            return Finding(mark=Mark.WRONG, reason=f"call {number}: {reason}")
    return RIGHT


def _is_right_on_two_streams(shape: Shape, device: torch.device) -> Finding:
    load = workload(shape, device=device)
    with torch.inference_mode():
        function = _function(load, "fused-single")
        if isinstance(function, Unavailable):
            return Finding(mark=Mark.ABSENT, reason=function.reason)
        streams = [torch.cuda.Stream(device) for _ in range(2)]
        inputs = [torch.randn_like(load.x) for _ in range(2 * _ROUNDS_OF_STREAMS)]
        torch.cuda.synchronize(device)
        outs = []
        for number, x in enumerate(inputs):
            with torch.cuda.stream(streams[number % 2]):
                outs.append(function(x))
        torch.cuda.synchronize(device)
        for number, (x, out) in enumerate(zip(inputs, outs, strict=True), start=1):
            if reason := _why_wrong(load, x, out):
                return Finding(mark=Mark.WRONG, reason=f"call {number}, two streams by turns: {reason}")
    return RIGHT


def _is_sanitary(operation: Operation, name: str, shape: Shape) -> Finding:
    """Call one kernel of a process under the tool that watches its accesses to memory."""
    tool = next((found for each in _SANITIZER if (found := shutil.which(each))), None)
    if tool is None:
        return Finding(mark=Mark.ABSENT, reason="no compute-sanitizer here")
    script = (
        f"import torch; from {__name__} import call_once; "
        f"call_once({str(operation)!r}, {name!r}, {(shape.batch, shape.dim, shape.hidden)!r})"
    )
    try:
        done = subprocess.run(
            [tool, "--tool", "memcheck", "--error-exitcode", "9", sys.executable, "-c", script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_SANITIZED_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Finding(mark=Mark.ABSENT, reason=f"it took more than {_LONGEST_SANITIZED_S:g} s")
    if done.returncode == 0:
        return RIGHT
    said = (done.stdout + done.stderr).strip().splitlines()
    mark = Mark.WRONG if done.returncode == 9 else Mark.ABSENT
    return Finding(mark=mark, reason=" / ".join(said[-3:])[:500])


def call_once(operation: str, name: str, size: tuple[int, int, int]) -> None:
    """Call one contender once, in a process that is watched. Raises: RuntimeError if it is unavailable."""
    load = workload(_shape(Operation(operation), size), device=torch.device("cuda"))
    with torch.inference_mode():
        function = _function(load, name)
        if isinstance(function, Unavailable):
            raise RuntimeError(function.reason)  # noqa: TRY004 - nothing is wrong with a type
        function(load.x)
        torch.cuda.synchronize()


def _function(load: Workload, name: str) -> Function | Unavailable:
    built = providers.build(contender_from_name(name), load)
    return built if isinstance(built, Unavailable) else built.function


def _why_wrong(load: Workload, x: torch.Tensor, out: torch.Tensor) -> str | None:
    shown = replace(load, x=x)
    error, limit = error_rel((out,), shown.reference()), tolerance(load.shape)
    return None if error <= limit else f"off by {error:.2g}, rounding explains {limit:.2g}"


@contextmanager
def _in_order() -> Iterator[None]:
    """Let sums be added in one order, so that equal inputs give equal bits."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode=before)

"""Contenders that may be advised: who can compute a block, and who takes too long for a first answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.axes_files import NAMED_AXES
from benchmarks.ruler.plan.plugins import foreign_names
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Operation, Pass

if TYPE_CHECKING:
    from pathlib import Path

_ALWAYS = (BASELINE, "compiled", "fused")
_OF_CUDA = ("compiled-cudagraphs",)
# Packed weights are for inference, and a block without a gate has nothing to pack side by side.
_OF_FORWARD = ("fused:packed",)
_OF_FORWARD_ON_CPU = ("fused-onednn:packed", "onnxruntime:packed")
# They try many kernels before they run one: a group of them takes longer than all others together.
_SLOW_ON_CPU = ("compiled-max-autotune-no-cudagraphs",)
_SLOW_FORWARD_ON_CPU = ("compiled-frozen:packed",)
_SLOW_ON_CUDA = ("compiled-max-autotune-no-cudagraphs", "liger-mlp")
# In no named axes: levels that a person compares on purpose.
_BY_NAME_ALONE = ("compiled-max-autotune", "fused-cpp:packed", "fused-cuda")
_ADDMM_ACTIVATIONS = {DeviceKind.CPU: {"relu", "gelu"}, DeviceKind.CUDA: {"relu", "gelu_tanh"}}


@dataclass(frozen=True, kw_only=True)
class Contenders:
    """Names of the contenders to measure, the baseline first, and of those left out because they take long."""

    measured: tuple[str, ...]
    left_out: tuple[str, ...]


def contenders_of(
    operation: Operation, activation: str, pass_: Pass, *, device: DeviceKind, is_thorough: bool
) -> Contenders:
    """Return who can compute a block in a pass on a device; `is_thorough`: whoever takes long, too."""
    is_gated, is_forward = operation is Operation.GATED_MLP, pass_ is Pass.FORWARD
    usual = list(_ALWAYS)
    slow = list(_SLOW_ON_CPU)
    if device is DeviceKind.CUDA:
        usual += _OF_CUDA
        slow = [name for name in _SLOW_ON_CUDA if is_gated or not name.startswith("liger")]
        if is_gated and activation in {"silu", "gelu_tanh"}:
            usual.append("liger")
    if is_forward:
        usual += _OF_FORWARD
        if device is DeviceKind.CPU:
            usual += _OF_FORWARD_ON_CPU
            slow += _SLOW_FORWARD_ON_CPU
        if is_gated:
            usual.append("packed-eager:packed")
        elif activation in _ADDMM_ACTIVATIONS[device]:
            usual.append("addmm-activation")
    if is_thorough:
        return Contenders(measured=(*usual, *slow), left_out=())
    return Contenders(measured=tuple(usual), left_out=tuple(slow))


def contenders_known(module: Path | None) -> tuple[str, ...]:
    """Return the names of all contenders, those of a provider module, too. Raises: InvalidProviderModule."""
    named = (name for axes in NAMED_AXES.values() for part in axes.parts() for name in part.providers)
    slow = (*_SLOW_ON_CPU, *_SLOW_FORWARD_ON_CPU, *_SLOW_ON_CUDA)
    return tuple(dict.fromkeys((*_ALWAYS, *named, *slow, *_BY_NAME_ALONE, *foreign_names(module))))

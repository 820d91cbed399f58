"""Axes of known models: a preset's block at several batches, and all presets'. Pure; imports nothing heavy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.presets import PRESETS

if TYPE_CHECKING:
    from benchmarks.ruler.plan.axes import Axes

# What a preset decides.
KEYS_OF_MODEL = ("operations", "dims", "hiddens", "activations")


def axes_of_model(name: str, axes: Axes) -> Axes:
    """Return `axes` at the block of the preset `name`; batches, dtypes and providers stay. Raises: KeyError."""
    preset = PRESETS[name]
    return replace(
        axes,
        model=name,
        operations=(preset.operation,),
        dims=(preset.dim,),
        hiddens=(preset.hidden,),
        activations={**axes.activations, preset.operation: (preset.activation,)},
    )


_MODEL = replace(QUICK, providers=(*QUICK.providers, "fused:packed"), batches=(1, 64, 512))
_FIRST, *_OTHERS = (replace(axes_of_model(name, _MODEL), name=f"models: {name}") for name in PRESETS)
# A token, a short prompt, a long one. Models that share a block, as Mistral 7B and Llama 3 8B do, share its points.
MODELS = replace(_FIRST, name="models", also=tuple(_OTHERS))

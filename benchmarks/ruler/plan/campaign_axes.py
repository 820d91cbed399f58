"""Axes of a campaign on a rented GPU: that it works, what half an hour has time for, what fills the tables."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.ruler.plan.axes import QUICK, Axes, Order, all_groups
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Operation, Pass

_RIVALS = ("compiled", "compiled-cudagraphs", "packed-eager:packed", "liger", "addmm-activation")
_AUTOTUNED = ("compiled-max-autotune-no-cudagraphs", "compiled-max-autotune-tma")
_LEVELS = ("fused-pointwise", "fused-epilogue", "fused-cublaslt", "fused-single")
# Where the table of `fused` against its rivals is taken; see docs/gpu-campaign.md.
CAMPAIGN_QUICK = replace(
    QUICK,
    name="campaign-quick",
    operations=(Operation.MLP, Operation.GATED_MLP),
    providers=(BASELINE, *_RIVALS, *_AUTOTUNED, "liger-mlp", "fused", "fused:packed", "fused-captured", *_LEVELS),
    # cuBLASLt's epilogue has the tanh form of gelu alone, and Liger, too.
    activations={**QUICK.activations, Operation.MLP: ("gelu_tanh",)},
    batches=(16,),
    hiddens=(256,),
    budget_s=0.2,
)
_CAMPAIGN = replace(
    CAMPAIGN_QUICK,
    dtypes=dict.fromkeys(DeviceKind, ("bfloat16",)),
    batches=(1, 4, 16, 64, 256, 1024, 4096, 16384),
)
_GATED = replace(_CAMPAIGN, operations=(Operation.GATED_MLP,))
CAMPAIGN = replace(
    _CAMPAIGN,
    name="campaign",
    operations=(Operation.MLP,),
    hiddens=(256, 512, 1024, 3072, 4096),
    budget_s=0.4,
    also=(
        replace(_GATED, name="campaign: gated, dim 2048", hiddens=(5632,), dims=(2048,)),
        replace(_GATED, name="campaign: gated, dim 4096", hiddens=(11008, 14336), dims=(4096,)),
        replace(
            _CAMPAIGN,
            name="campaign: near the floor",
            operations=(Operation.MLP,),
            activations={**QUICK.activations, Operation.MLP: ("relu",)},
            batches=(65536,),
            hiddens=(256, 512),
        ),
        replace(
            _CAMPAIGN,
            name="campaign: erf",
            operations=(Operation.MLP,),
            activations={**QUICK.activations, Operation.MLP: ("gelu",)},
            batches=(16, 4096),
            hiddens=(4096,),
        ),
    ),
)
# The least that answers most: what a rented half hour has time for, what is called most often first.
_HALF_HOUR = replace(
    _CAMPAIGN,
    providers=(BASELINE, *_RIVALS, "fused", "fused-captured", *_LEVELS),
    budget_s=0.3,
    visits=1,
    order=Order.ROWS,
)
_HALF_HOUR_MLP = replace(_HALF_HOUR, operations=(Operation.MLP,))
_HALF_HOUR_GATED = replace(_HALF_HOUR, operations=(Operation.GATED_MLP,))
HALF_HOUR = replace(
    _HALF_HOUR_MLP,
    name="half-hour",
    batches=(1, 8, 64, 512, 4096),
    hiddens=(4096,),
    also=(
        replace(_HALF_HOUR_MLP, name="half-hour: small", batches=(64, 1024, 16384), hiddens=(1024,)),
        replace(
            _HALF_HOUR_GATED,
            name="half-hour: gated, hidden 14336",
            batches=(1, 8, 64, 512, 4096),
            hiddens=(14336,),
            dims=(4096,),
        ),
        replace(
            _HALF_HOUR_GATED, name="half-hour: gated, hidden 11008", batches=(1, 512), hiddens=(11008,), dims=(4096,)
        ),
        replace(
            _HALF_HOUR_GATED,
            name="half-hour: gated, dim 2048",
            # Its first call tunes itself for a minute and more, so that few shapes have it.
            providers=(*_HALF_HOUR.providers, "liger-mlp"),
            batches=(64, 1024),
            hiddens=(5632,),
            dims=(2048,),
        ),
        replace(
            _HALF_HOUR_MLP,
            name="half-hour: near the floor",
            activations={**QUICK.activations, Operation.MLP: ("relu",)},
            batches=(65536,),
            hiddens=(256, 512),
        ),
        replace(
            _HALF_HOUR_MLP,
            name="half-hour: erf",
            activations={**QUICK.activations, Operation.MLP: ("gelu",)},
            batches=(64,),
            hiddens=(4096,),
        ),
    ),
)
# Measured in passing by whoever wants to see asv itself at work: one group, of which the record has most already.
ASV_PROOF = replace(
    _HALF_HOUR_MLP, name="asv-proof", providers=(BASELINE, "fused"), batches=(64,), hiddens=(4096,), also=()
)
_AUTOTUNED_AT = replace(_HALF_HOUR, providers=(*_HALF_HOUR.providers, *_AUTOTUNED), batches=(1, 512))
# What inductor finds by trying, at four shapes of the half hour; a group is measured whole, so beside all the others.
HALF_HOUR_AUTOTUNED = replace(
    _AUTOTUNED_AT,
    name="half-hour-autotuned",
    operations=(Operation.MLP,),
    hiddens=(4096,),
    also=(
        replace(
            _AUTOTUNED_AT,
            name="half-hour-autotuned: gated",
            operations=(Operation.GATED_MLP,),
            hiddens=(14336,),
            dims=(4096,),
        ),
    ),
)
_ARTICLE = replace(_HALF_HOUR, providers=(BASELINE, "compiled", *_RIVALS[2:], "fused", *_LEVELS))
# One product with nothing to fuse, and a GeGLU block: what is said of fusion in public was read off these two.
ARTICLE = replace(
    _ARTICLE,
    name="article",
    operations=(Operation.LINEAR,),
    batches=(1024,),
    hiddens=(64,),
    dims=(32,),
    also=(
        replace(
            _ARTICLE,
            name="article: GeGLU",
            operations=(Operation.GATED_MLP,),
            activations={**QUICK.activations, Operation.GATED_MLP: ("gelu_tanh",)},
            batches=(8192,),
            hiddens=(3072,),
            dims=(768,),
        ),
    ),
)
_TRAINING = replace(_HALF_HOUR, passes=(Pass.FORWARD_BACKWARD,), providers=(BASELINE, "compiled", "liger", "fused"))
# One backward beside its forward, of few providers: few rows, where the host is waited for, and a training step's many.
HALF_HOUR_TRAINING = replace(
    _TRAINING,
    name="half-hour-training",
    operations=(Operation.MLP,),
    batches=(64, 4096),
    hiddens=(4096,),
    also=(
        replace(
            _TRAINING,
            name="half-hour-training: gated",
            operations=(Operation.GATED_MLP,),
            batches=(64, 4096),
            hiddens=(5632,),
            dims=(2048,),
        ),
    ),
)
_OF_THE_HALF_HOUR = (HALF_HOUR, HALF_HOUR_AUTOTUNED, HALF_HOUR_TRAINING, ARTICLE, ASV_PROOF)


def for_device(axes: Axes, device: DeviceKind) -> Axes:
    """Return axes of the half hour as `device` measures them: on a CPU in small, to see that all of it runs."""
    return axes if device is DeviceKind.CUDA else _rehearsed(axes)


def _rehearsed(axes: Axes) -> Axes:
    """Return axes with the same parts, a sixteenth of each width and at most 64 rows."""
    return replace(
        axes,
        name=f"{axes.name}-rehearsal",
        batches=tuple(dict.fromkeys(min(batch, 64) for batch in axes.batches)),
        hiddens=tuple(max(16, hidden // 16) for hidden in axes.hiddens),
        dims=tuple(max(16, dim // 16) if isinstance(dim, int) else dim for dim in axes.dims),
        budget_s=0.1,
        also=tuple(map(_rehearsed, axes.also)),
    )


def cells_ahead(axes: Axes) -> list[str]:
    """Return what fused_mlp.compiled_ahead is asked to compile for the axes: operation:activation:dim:hidden:rows.

    A product without an activation is left out: there is nothing to fuse.
    """
    rows: dict[str, list[int]] = {}
    for group in all_groups(axes, operations=tuple(Operation), device=DeviceKind.CUDA):
        s = group.shape
        if s.activation is not None:
            rows.setdefault(f"{s.operation}:{s.activation}:{s.dim}:{s.hidden}", []).append(s.batch)
    return [f"{cell}:{','.join(map(str, batches))}" for cell, batches in rows.items()]


CAMPAIGNS = (CAMPAIGN_QUICK, CAMPAIGN, *_OF_THE_HALF_HOUR)
REHEARSALS = tuple(map(_rehearsed, _OF_THE_HALF_HOUR))
"""What nobody chooses by name but a campaign on a CPU."""

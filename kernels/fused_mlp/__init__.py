"""Fused MLPs for PyTorch: Linear → activation (→ Linear) and gated MLPs, each one op on cpu and cuda.

Functions:
    linear, mlp, gated_mlp: the operations; weights are laid out as nn.Linear.weight, [out, in].
    why_unavailable: asked before, why an operation cannot run on a device here.
    why_not_for_shape: asked before, why an implementation has no kernel for a shape.
    choice_for: what a call gets for its shape, and how.
    Recompute: what their backward passes compute again.
    build.ensure_built: compiles the CPU kernels now instead of at the first call.
Modules:
    FusedLinear, FusedMLP, FusedGatedMLP: the same with parameters; `prepare()` packs them for inference on the CPU.
    fuse, unfuse, fused: puts them into a model somebody else wrote, takes them out, both around a with-statement.
    prepare: packs the weights of all fused blocks of a model.
Errors are a tree: see fused_mlp.errors. The oracle everything is tested against is fused_mlp.reference.
"""

from fused_mlp import reference
from fused_mlp.activations import Activation
from fused_mlp.choice.choice import Choice
from fused_mlp.choice.choices import choice_for
from fused_mlp.choice.implementations import why_not_for_shape, why_unavailable
from fused_mlp.errors import FusedMlpError, InvalidArgument, Unavailable
from fused_mlp.gated_mlp import gated_mlp
from fused_mlp.linear import linear
from fused_mlp.mlp import mlp
from fused_mlp.models.fusion import fuse, fused, prepare, unfuse
from fused_mlp.models.fusion_report import FusionReport, PreparationReport
from fused_mlp.modules.layers import FusedGatedMLP, FusedLinear, FusedMLP
from fused_mlp.modules.packing import PackReport
from fused_mlp.native import build
from fused_mlp.ops.recomputation import Recompute
from fused_mlp.vocabulary import Implementation, Operation

__all__ = [
    "Activation",
    "Choice",
    "FusedGatedMLP",
    "FusedLinear",
    "FusedMLP",
    "FusedMlpError",
    "FusionReport",
    "Implementation",
    "InvalidArgument",
    "Operation",
    "PackReport",
    "PreparationReport",
    "Recompute",
    "Unavailable",
    "build",
    "choice_for",
    "fuse",
    "fused",
    "gated_mlp",
    "linear",
    "mlp",
    "prepare",
    "reference",
    "unfuse",
    "why_not_for_shape",
    "why_unavailable",
]

"""Fused MLPs for PyTorch: Linear → activation (→ Linear) and gated MLPs, each one op on cpu and cuda.

Functions:
    linear, mlp, gated_mlp: the operations; weights are laid out as nn.Linear.weight, [out, in].
    why_unavailable: asked before, why an operation cannot run on a device here.
    build.ensure_built: compiles the CPU kernels now instead of at the first call.
Errors are a tree: see fused_mlp.errors. The oracle everything is tested against is fused_mlp.reference.
"""

from fused_mlp import build, reference
from fused_mlp.activations import Activation
from fused_mlp.availability import Operation, why_unavailable
from fused_mlp.errors import FusedMlpError, InvalidArgument, Unavailable
from fused_mlp.gated_mlp import gated_mlp
from fused_mlp.linear import linear
from fused_mlp.mlp import mlp

__all__ = [
    "Activation",
    "FusedMlpError",
    "InvalidArgument",
    "Operation",
    "Unavailable",
    "build",
    "gated_mlp",
    "linear",
    "mlp",
    "reference",
    "why_unavailable",
]

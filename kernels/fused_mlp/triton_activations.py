"""The activations as Triton device functions, on float32 values. Importing this needs triton."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def activate(z, ACTIVATION: tl.constexpr):
    """act(z), z in float32. ACTIVATION is the op's name of it, "none" included."""
    if ACTIVATION == "relu":
        return tl.maximum(z, 0.0)
    elif ACTIVATION == "gelu":
        return 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    elif ACTIVATION == "gelu_tanh":
        # 0.5·(1 + tanh(u)) = sigmoid(2u): one exponential instead of a hyperbolic tangent.
        return z * tl.sigmoid(1.5957691216057308 * (z + 0.044715 * z * z * z))
    elif ACTIVATION == "silu":
        return z * tl.sigmoid(z)
    else:
        tl.static_assert(ACTIVATION == "none", "unknown activation")
        return z

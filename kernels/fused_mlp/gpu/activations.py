"""Activations as Triton device functions, on float32 values. Importing this needs triton."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def normal_share(z):
    """Compute Φ(z), the normal distribution, within 1.3e-7; z in float32.

    Φ(z) = sigmoid(z·q(z²)), q a polynomial: half the instructions of erf (on sm_90 a GELU takes 15 instead of 31), and
    the small values of negative z keep more digits than 1 + erf leaves them. q was fitted by linear programming on
    |z| ≤ 6.5, where it makes the largest error of Φ least; its leading coefficient keeps the sign beyond. Its
    coefficients carry log2(e), for exp2.
    """
    square = z * z
    q = 3.8163122439982544e-07 + square * -5.067235075983945e-09
    q = -1.1439833542681299e-05 + square * q
    q = 0.000159579940373078 + square * q
    q = 9.404923184774816e-05 + square * q
    q = -0.10483512282371521 + square * q
    q = -2.3022093772888184 + square * q
    return 1.0 / (1.0 + tl.exp2(z * q))


@triton.jit
def activate(z, ACTIVATION: tl.constexpr):
    """Compute act(z), z in float32. ACTIVATION is the op's name of it, "none" included."""
    if ACTIVATION == "relu":
        return tl.maximum(z, 0.0)
    elif ACTIVATION == "gelu":
        return z * normal_share(z)
    elif ACTIVATION == "gelu_tanh":
        # 0.5·(1 + tanh(u)) = sigmoid(2u): one exponential instead of a hyperbolic tangent.
        return z * tl.sigmoid(1.5957691216057308 * (z + 0.044715 * z * z * z))
    elif ACTIVATION == "silu":
        return z * tl.sigmoid(z)
    elif ACTIVATION == "quick_gelu":
        return z * tl.sigmoid(1.702 * z)
    else:
        tl.static_assert(ACTIVATION == "none", "unknown activation")
        return z


@triton.jit
def activate_with_slope(z, ACTIVATION: tl.constexpr):
    """Compute (act(z), act'(z)), z in float32. The slope of relu at 0 is 0, as PyTorch has it."""
    if ACTIVATION == "relu":
        return tl.maximum(z, 0.0), tl.where(z > 0.0, 1.0, 0.0)
    elif ACTIVATION == "gelu":
        # x·Φ(x) has the slope Φ(x) + x·φ(x), φ the normal density.
        below = normal_share(z)
        return z * below, below + z * 0.3989422804014327 * tl.exp(-0.5 * z * z)
    elif ACTIVATION == "gelu_tanh":
        square = z * z
        share = tl.sigmoid(1.5957691216057308 * z * (1.0 + 0.044715 * square))
        inner_slope = 1.5957691216057308 * (1.0 + 0.134145 * square)
        # share·(1 - share) first: it vanishes faster than the polynomial grows, which could overflow alone.
        return z * share, share + share * (1.0 - share) * z * inner_slope
    elif ACTIVATION == "silu":
        share = tl.sigmoid(z)
        return z * share, share + z * share * (1.0 - share)
    elif ACTIVATION == "quick_gelu":
        share = tl.sigmoid(1.702 * z)
        return z * share, share + 1.702 * z * share * (1.0 - share)
    else:
        tl.static_assert(ACTIVATION == "none", "unknown activation")
        return z, tl.full(z.shape, 1.0, tl.float32)

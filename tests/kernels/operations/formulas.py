"""The operations with the package's own rule for what is held and its own formulas, but a float64 forward pass."""

import torch
from torch.nn import functional

from fused_mlp.activations import activate
from fused_mlp.gated_mlp import saved_for_backward as gated_keeping
from fused_mlp.linear import saved_for_backward as linear_keeping
from fused_mlp.mlp import saved_for_backward as mlp_keeping


def linear_in_float64(x, w, b, activation, recompute):
    z = functional.linear(x, w, b)
    return activate(z, activation), z if recompute != "all" and activation != "none" else x.new_empty(0)


def mlp_in_float64(x, w1, b1, w2, b2, activation, recompute):
    z = functional.linear(x, w1, b1)
    hidden, nothing = activate(z, activation), x.new_empty(0)
    kept = {"all": (nothing, nothing), "activation": (z, nothing), "nothing": (z, hidden)}[recompute]
    return functional.linear(hidden, w2, b2), *kept


def gated_mlp_in_float64(x, w_gate, w_up, w_down, activation, recompute):
    z, up, nothing = functional.linear(x, w_gate), functional.linear(x, w_up), x.new_empty(0)
    hidden = activate(z, activation) * up
    kept = {"all": (nothing,) * 3, "activation": (z, up, nothing), "nothing": (z, up, hidden)}[recompute]
    return functional.linear(hidden, w_down), *kept


SHAPES = {
    "linear": ((2, 3, 5), (4, 5), (4,)),
    "mlp": ((2, 2, 3), (4, 3), (4,), (3, 4), (3,)),
    "gated_mlp": ((2, 2, 3), (4, 3), (4, 3), (3, 4)),
}


def in_float64(name, activation, recompute):
    """The operation as a function of tensors, None where a bias is missing."""
    forward = {"linear": linear_in_float64, "mlp": mlp_in_float64, "gated_mlp": gated_mlp_in_float64}[name]
    rule = {"linear": linear_keeping, "mlp": mlp_keeping, "gated_mlp": gated_keeping}[name]

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            results = forward(*inputs, activation, recompute)
            rule._hold(ctx, (*inputs, activation, None, recompute), results)
            return results

        @staticmethod
        def backward(ctx, *grads):
            return rule._backward(ctx, *grads)[: len(SHAPES[name])]

    return lambda *inputs: Recorded.apply(*inputs)[0]

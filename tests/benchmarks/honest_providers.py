"""Providers that are honest in unusual ways, and must not be taken for others."""

import torch
from torch.nn import functional


def _mlp(x, weights, out=None):
    up, up_bias, down, down_bias = weights
    return torch.addmm(down_bias, functional.gelu(functional.linear(x, up, up_bias)), down.t(), out=out)


def from_a_slab(load):
    """Cuts its results from a piece of memory for eight, each given out once."""
    weights, slab = list(load.module.parameters()), []

    def function(x):
        if not slab:
            slab.extend(torch.empty(8, len(x), load.shape.dim).unbind(0))
        return _mlp(x, weights, out=slab.pop())

    return function


def padded(load):
    """Gives all but the last column of a wider result."""

    def function(x):
        return functional.pad(load.module(x), (0, 1))[:, :-1]

    return function


def vectorized(load):
    weights = list(load.module.parameters())
    return torch.vmap(lambda row: _mlp(row[None], weights)[0])


def called_with_weights(load):
    weights = dict(load.module.named_parameters())
    return lambda x: torch.func.functional_call(load.module, weights, (x,))


def marking(load):
    """Notes on the shared module what no call looks up, as compilers do."""
    load.module._n_calls = 0

    def function(x):
        load.module._n_calls += 1
        return load.module(x)

    return function


def traced(load):
    return torch.jit.trace(load.module, load.x)


def exported(load):
    return torch.export.export(load.module, (load.x,)).module()


def compiled(load):
    return torch.compile(load.module, backend="eager")


PROVIDERS = {
    "from-a-slab": from_a_slab,
    "padded": padded,
    "vectorized": vectorized,
    "called-with-weights": called_with_weights,
    "marking": marking,
    "traced": traced,
    "exported": exported,
    "compiled-elsewhere": compiled,
}

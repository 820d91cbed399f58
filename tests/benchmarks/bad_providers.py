"""Providers that go wrong in every way a provider can; run by test_sweep through FUSEBENCH_PROVIDER_MODULE."""

import ctypes
import math
import os
import time

import numpy as np
import torch


def right(load):
    """Right, and available everywhere."""
    return load.module


def segfaults(load):
    """Reads address 0 when called."""
    del load
    return lambda _: ctypes.string_at(0)


def exits(load):
    """Ends the process when built."""
    del load
    os._exit(7)


def hangs(load):
    """Never returns when called."""
    del load
    return lambda _: time.sleep(3600)


def exhausts_memory(load):
    """Asks for more memory than any machine has."""
    del load
    return lambda _: torch.empty(2**60, dtype=torch.uint8).fill_(1)


def is_wrong(load):
    """Off by a tenth."""
    return lambda x: load.module(x) * 1.1


def returns_nan(load):
    """Right but for one element."""

    def function(x):
        out = load.module(x).clone()
        out[0, 0] = torch.nan
        return out

    return function


def has_another_shape(load):
    """Loses a row."""
    return lambda x: load.module(x)[:-1]


def raises(load):
    """Raises when called."""
    del load

    def function(_):
        raise ValueError("this kernel cannot do that")

    return function


def fails_to_compile(load):
    """Has a graph break where one graph is required."""

    def function(x):
        torch._dynamo.graph_break()
        return load.module(x)

    return torch.compile(function, fullgraph=True)


def reads_beyond(load):
    """Right, unless what lies behind its input is NaN."""

    def function(x):
        rows, dim = x.shape
        beyond = torch.as_strided(x, (rows, dim + 1), (dim, 1), x.storage_offset())
        return load.module(x) + 0 * beyond.sum()

    return function


def is_absent(load):
    """Says why it is not available."""
    del load
    return "needs a machine that is not this one"


def computes_past_torch(load):
    """Right, but nobody can see what it runs."""
    up, up_bias, down, down_bias = (weight.numpy() for weight in load.module.weights())
    erf = np.vectorize(math.erf, otypes=[np.float32])

    def function(x):
        hidden = x.numpy() @ up.T + up_bias
        hidden = hidden * 0.5 * (1 + erf(hidden / math.sqrt(2)))
        return torch.from_numpy(hidden @ down.T + down_bias)

    return function


def adds_zero(load):
    """Right, with an operator more than it says."""
    return lambda x: load.module(x) + 0.0


def copies(load):
    """Right, with a copy of its input."""
    return lambda x: load.module(x.clone())


def recompiles(load):
    """Right, and compiled anew at every call."""

    def function(x):
        torch._dynamo.reset()
        return torch.compile(load.module, backend="eager")(x)

    return function


PROVIDERS = {
    "right": right,
    "segfaults": segfaults,
    "exits": exits,
    "hangs": hangs,
    "exhausts-memory": exhausts_memory,
    "is-wrong": is_wrong,
    "returns-nan": returns_nan,
    "has-another-shape": has_another_shape,
    "raises": raises,
    "fails-to-compile": fails_to_compile,
    "reads-beyond": reads_beyond,
    "is-absent": is_absent,
    "computes-past-torch": computes_past_torch,
    "adds-zero": adds_zero,
    "copies": copies,
    "recompiles": recompiles,
}
EXPECTATIONS = {"right": "eager", "adds-zero": "eager", "copies": "eager", "recompiles": "eager"}

"""Providers that cheat by what they do to others: to the instrument, to what all share, or to their rivals."""

import gc
import os
import sys
import time
import warnings

import torch
from torch.nn import functional


def slow_clock(load):
    honest = time.perf_counter
    time.perf_counter = lambda: honest() / 10
    return load.module


def ruler_clock(load):
    from benchmarks.ruler.measure import clock

    honest = clock.perf_counter
    clock.perf_counter = lambda: honest() / 10
    return load.module


def other_code(load):
    """The clock's method runs other code, though it is the same function."""
    from benchmarks.ruler.measure.clock import CpuClock

    def timed(self, call, *, calls):
        from benchmarks.ruler.measure.clock import Timed

        for _ in range(calls):
            out = call()
        return Timed(1e-9, out)

    CpuClock.timed.__code__ = timed.__code__
    return load.module


def lenient_check(load):
    torch.linalg.vector_norm = lambda *_, **__: torch.tensor(1e-9)
    return lambda x: load.module(x) * 2


def slow_activation(load):
    """Makes the baseline slower (162)."""
    honest = functional.gelu

    def slow(*args, **kwargs):
        time.sleep(1e-4)
        return honest(*args, **kwargs)

    functional.gelu = slow
    return load.module


def hooked_baseline(load):
    load.module.register_forward_hook(lambda *_: time.sleep(1e-4))
    return load.module


def more_threads(load):
    torch.set_num_threads(torch.get_num_threads() + 1)
    return load.module


def profiled_rivals(load):
    sys.setprofile(lambda *_: None)
    return load.module


def monitored_rivals(load):
    """Slows every call of a function written in Python, from Python 3.12 on by what that has for debuggers."""
    if not hasattr(sys, "monitoring"):
        sys.settrace(lambda *_: time.sleep(1e-5))
        return load.module
    tool = 3
    sys.monitoring.use_tool_id(tool, "rivals")
    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda *_: time.sleep(1e-5))
    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
    return load.module


def slow_class(load):
    """Makes the baseline slower by making its module one of another class."""

    class Slow(type(load.module)):
        def forward(self, x):
            time.sleep(1e-4)
            return super().forward(x)

    load.module.__class__ = Slow
    return lambda x: super(Slow, load.module).forward(x)


def another_layout(load):
    """The shared weights hold the same values, laid out so that a product takes longer."""
    own = [each.detach().clone() for each in load.module.parameters()]
    for each in load.module.parameters():
        if each.dim() == 2:
            each.data = each.data.t().contiguous().t()
    up, up_bias, down, down_bias = own
    return lambda x: functional.linear(functional.gelu(functional.linear(x, up, up_bias)), down, down_bias)


def replaced_parameter(load):
    load.module.up.weight = torch.nn.Parameter(torch.zeros_like(load.module.up.weight), requires_grad=False)
    return load.module


def other_activation(load):
    load.module.activation = "relu"
    return load.module


def slow_table(load):
    """Makes the baseline's activation slower in the table where it looks it up."""
    from benchmarks.ruler.providers import workload

    honest = workload.ACTIVATIONS["gelu"]

    def slow(x):
        time.sleep(1e-4)
        return honest(x)

    workload.ACTIVATIONS["gelu"] = slow
    return load.module


def slow_dispatcher(load):
    """Makes everybody's activation slower below torch's functions."""
    global OVERRIDDEN  # noqa: PLW0603 - an override lasts as long as its library lives
    OVERRIDDEN = torch.library.Library("aten", "IMPL")

    def slow(x, approximate="none"):
        time.sleep(1e-4)
        return x * (1 + torch.erf(x / 2**0.5)) / 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OVERRIDDEN.impl("gelu", slow, "CPU")
    return load.module


def pinned(load):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    return load.module


def collected(load):
    """Has Python look for garbage while its rivals allocate."""

    def function(x):
        gc.enable()
        return load.module(x)

    return function


def mixed_precision(load):
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    return load.module


def compiled_in_place(load):
    """Documented, and compiles the baseline for everybody."""
    load.module.compile(backend="eager")
    return load.module


def slow_compiled_call(load):
    """Makes the baseline's call slower where a module keeps what `compile` made of it."""
    honest = load.module._call_impl

    def slow(*args, **kwargs):
        time.sleep(1e-4)
        return honest(*args, **kwargs)

    load.module._compiled_call_impl = slow
    return honest


def slow_parameters(load):
    """Makes every look-up of a parameter slower; the parameters are the same."""

    class Slow(dict):
        def __getitem__(self, name):
            time.sleep(1e-4)
            return super().__getitem__(name)

    up, down = load.module.up, load.module.down
    weights = [up.weight, up.bias, down.weight, down.bias]
    for layer in (up, down):
        layer.__dict__["_parameters"] = Slow(layer._parameters)
    up_weight, up_bias, down_weight, down_bias = weights
    return lambda x: functional.linear(
        functional.gelu(functional.linear(x, up_weight, up_bias)), down_weight, down_bias
    )


def other_gradients(load):
    """Leaves its rivals without gradients where they are asked for them, or has them record a graph."""
    load.module.requires_grad_(not load.x.requires_grad)
    return load.module


def several_settings(load):
    """What is put back of it must not be only the first, or the next contender is taken for the other."""
    torch.set_grad_enabled(not torch.is_grad_enabled())
    torch.set_num_threads(torch.get_num_threads() + 1)
    time.perf_counter = lambda: 0.0
    for weight in load.module.parameters():
        weight.data.zero_()
    return load.module

"""Providers that compute honestly, and change afterwards what others' calls take or go through."""

import dataclasses
import random
import signal
import time
import tracemalloc

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.ruler.measure import timing
from benchmarks.ruler.referee import input_times
from benchmarks.ruler.worker import outcomes

HONEST_CALLS = 7


class _SlowTensor(torch.Tensor):
    """What PyTorch's functions ask first."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        time.sleep(5e-5)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class _SlowParameter(_SlowTensor, torch.nn.Parameter):
    """The same, for what a module holds."""


def _with_own_weights(load):
    up, up_bias, down, down_bias = [each.detach().clone() for each in load.module.parameters()]

    def function(x):
        with torch._C.DisableTorchFunctionSubclass():
            return functional.linear(functional.gelu(functional.linear(x, up, up_bias)), down, down_bias)

    return function


def meddling(meddle):
    """Honest at every call, with weights of its own; `meddle` is called once, with the load and the input."""

    def build(load):
        n_calls = 0
        honest = _with_own_weights(load)

        def function(x):
            nonlocal n_calls
            n_calls += 1
            out = honest(x)
            if n_calls > HONEST_CALLS and x is not load.x:
                meddle(load, x)
            return out

        return function

    return build


def _slow_input(load, x):
    del load
    x.__class__ = _SlowTensor


def _moved_input(load, x):
    del load
    x.data = x.data.clone()


def _slow_weights(load, x):
    del x
    for each in load.module.parameters():
        each.__class__ = _SlowParameter


def _anomaly(load, x):
    del load, x
    torch.autograd.set_detect_anomaly(True)


def _saved_tensors(load, x):
    del load, x
    torch._C._autograd._push_saved_tensors_default_hooks(lambda each: each, lambda each: each)


def _interrupting(load, x):
    del load, x
    signal.signal(signal.SIGVTALRM, lambda *_: time.sleep(1e-4))
    signal.setitimer(signal.ITIMER_VIRTUAL, 2e-4, 2e-4)


def _profiled(load, x):
    del load, x
    if not torch.autograd._profiler_enabled():
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]).__enter__()


def _slow_look_up(load, x):
    del x

    def slow(self, name):
        time.sleep(5e-5)
        return object.__getattribute__(self, name)

    type(load.module.up).__getattribute__ = slow


def _slow_own_call(load, x):
    del x
    honest = torch.nn.Module.__call__

    def slow(self, *args):
        time.sleep(5e-5)
        return honest(self, *args)

    type(load.module).__call__ = slow


class _Slowing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        time.sleep(1e-5)
        return func(*args, **(kwargs or {}))


def _mode_left_on(load, x):
    del load, x
    _Slowing().__enter__()


def _autocast(load, x):
    del load, x
    torch.set_autocast_enabled("cpu", enabled=True)


def skipped_calls(load):
    """Computes the last calls of a sample only: it learns how many there are, and that samples begin warmed up."""
    stale = torch.zeros(load.module(load.x).shape)
    is_warmed, n_samples, n_in_a_row, most, ended = False, 0, 0, 0, 0.0

    def function(x):
        nonlocal is_warmed, n_samples, n_in_a_row, most, ended
        if x is load.x:
            if n_in_a_row:
                n_samples, most, n_in_a_row = n_samples + 1, max(most, n_in_a_row), 0
            is_warmed = True
            return load.module(x)
        if n_in_a_row and time.perf_counter() - ended > 5e-4:
            is_warmed, n_in_a_row = False, 0  # a pause within a sample: it is being looked at
        n_in_a_row += 1
        is_skipped = is_warmed and n_samples > 3 and n_in_a_row < 0.6 * most
        out = stale if is_skipped else load.module(x)
        ended = time.perf_counter()
        return out

    return function


slow_inputs = meddling(_slow_input)
moved_inputs = meddling(_moved_input)
slow_weights = meddling(_slow_weights)
anomaly_mode = meddling(_anomaly)
saved_tensors = meddling(_saved_tensors)
interrupting = meddling(_interrupting)
profiler_left_on = meddling(_profiled)
slow_look_up = meddling(_slow_look_up)
slow_own_call = meddling(_slow_own_call)
mode_left_on = meddling(_mode_left_on)
autocast = meddling(_autocast)


def _unlimited(load, x):
    """A limit is a number of a module's, not a function."""
    del load, x
    input_times._TIMES_SLOWER = 1e9


def _other_defaults(load, x):
    """A function is the same while what it takes for granted is another."""
    del load, x
    input_times.InputTimes.why_suspicious.__kwdefaults__["lone_s"] = 1.0


def _no_bits(load, x):
    """`randrange` is as it was; what it draws from is not."""
    del load, x
    random.Random._randbelow = lambda *_: 0


def _hidden_builtin(load, x):
    """A name that a module did not have hides the builtin that it uses."""
    del load, x
    timing.float = lambda text: float(text) / 10


def _faster_records(load, x):
    """Samples are as they were; the outcome made of them is not."""
    del load, x

    def faster(outcome, **values):
        return dataclasses.replace(outcome, **{**values, "latency_s": 1e-9} if "latency_s" in values else values)

    outcomes.replace = faster


class _SlowBase(torch.nn.Module):
    def __getattr__(self, name):
        time.sleep(1e-5)
        return super().__getattr__(name)


def _slow_bases(load, x):
    """No class lacks or has anything new, and still looks elsewhere first."""
    del x
    type(load.module).__bases__ = (_SlowBase,)


def _slow_tracing(load, x):
    """Each call of a module asks whether it is traced."""
    del load, x
    asked = torch._C._get_tracing_state

    def slow():
        time.sleep(1e-5)
        return asked()

    torch._C._get_tracing_state = slow


def _traced_memory(load, x):
    del load, x
    tracemalloc.start(25)


OVERLOOKED = {
    "unlimited": meddling(_unlimited),
    "other-defaults": meddling(_other_defaults),
    "no-bits": meddling(_no_bits),
    "hidden-builtin": meddling(_hidden_builtin),
    "faster-records": meddling(_faster_records),
    "slow-bases": meddling(_slow_bases),
    "slow-tracing": meddling(_slow_tracing),
    "traced-memory": meddling(_traced_memory),
}

"""Providers that cheat, as those did that public catalogues of benchmarks tell of; each must be found out.

Sources, by number: gpu-mode/reference-kernels 49, 102, 104, 142, 162; KernelBench 82; pygpubench 7.
"""

import gc
import hashlib
import math
import random
import time

import torch

from tests.benchmarks import meddling_providers
from tests.benchmarks.clock_watching_providers import (
    computed_after_rivals,
    skipped_after_rivals,
    told_by_a_gap,
    wrong_in_later_turns,
)
from tests.benchmarks.deferring_providers import (
    computed_beforehand,
    filled_at_the_next_call,
    filled_when_dropped,
    honest_at_the_end,
    in_a_thread,
    lazy_instance,
    lazy_subclass,
    one_buffer,
    previous_result,
    several_buffers,
)
from tests.benchmarks.harmful_providers import (
    another_layout,
    collected,
    compiled_in_place,
    hooked_baseline,
    lenient_check,
    mixed_precision,
    monitored_rivals,
    more_threads,
    other_activation,
    other_code,
    other_gradients,
    pinned,
    profiled_rivals,
    replaced_parameter,
    ruler_clock,
    several_settings,
    slow_activation,
    slow_class,
    slow_clock,
    slow_compiled_call,
    slow_dispatcher,
    slow_parameters,
    slow_table,
)
from tests.benchmarks.meddling_providers import HONEST_CALLS, OVERLOOKED


def remembering(key_of):
    """Keep each result under a key of the input, and give it again."""

    def build(load):
        known = {}

        def function(x):
            key = key_of(x)
            if key not in known:
                known[key] = load.module(x)
            return known[key]

        return function

    return build


def version(x):
    return x.data_ptr(), -1 if x.is_inference() else x._version


def content(x):
    return hashlib.blake2b(x.detach().numpy().tobytes()).digest()


def later(cheat):
    """Honest for a few calls, then what `cheat` makes of the honest function."""

    def build(load):
        n_calls = 0
        cheating = cheat(load)

        def function(x):
            nonlocal n_calls
            n_calls += 1
            return load.module(x) if n_calls <= HONEST_CALLS else cheating(x)

        return function

    return build


def half_the_rows(load):
    width = load.module(load.x).shape[1]

    def function(x):
        half = x.shape[0] // 2
        out = torch.empty(x.shape[0], width, dtype=x.dtype)
        out[:half] = load.module(x[:half])
        return out

    return function


def view_of_the_input(load):
    del load
    return lambda x: x.view(x.shape)


def stale_memory(load):
    """What the allocator gives: with luck, where the reference was."""
    shape = load.module(load.x).shape
    return lambda x: torch.empty(shape, dtype=x.dtype)


def found_reference(load):
    """The checker's own copy of the result, found among all living tensors."""
    shape = load.module(load.x).shape

    def function(x):
        for each in gc.get_objects():
            if type(each) is torch.Tensor and each.dtype == torch.float64 and each.shape == shape:
                return each.to(x.dtype)
        return torch.zeros(shape, dtype=x.dtype)

    return function


def spoilt_inputs(load):
    """Zeros for all: the reference of a zeroed input, taken afterwards, is nearly nothing, too."""

    def function(x):
        out = load.module(x)
        x.data.zero_()
        return out

    return function


def zeroed_weights(load):
    def function(x):
        for weight in load.module.parameters():
            weight.data.zero_()
        return load.module(x)

    return function


def all_at_once(load):
    """Computes all inputs that it can find in one batch, and hands the results out one by one (104)."""
    others, known = [], {}

    def key_of(x):
        return x.data_ptr(), x[0, 0].item()

    def function(x):
        key = key_of(x)
        if key not in known:
            if not any(x is other for other in others):
                found = [each for each in gc.get_objects() if type(each) is torch.Tensor]
                others[:] = [each for each in found if each.shape == x.shape and each.dtype == x.dtype]
            outs = load.module(torch.cat(others)).split(x.shape[0])
            known.clear()
            known.update({key_of(each): out for each, out in zip(others, outs, strict=True)})
        return known[key]

    return function


def another_precision(load):
    half = type(load.module)(load.shape.dim, load.shape.hidden, load.shape.activation).bfloat16()
    half.load_state_dict(load.module.state_dict())
    return lambda x: half(x.bfloat16()).to(x.dtype)


def later_replacing(owner, name, replacement):
    """Replaces what the referee computes its verdict by, and then computes nothing."""

    def cheat(load):
        shape = load.module(load.x).shape

        def function(x):
            setattr(owner, name, replacement)
            return torch.zeros(shape, dtype=x.dtype)

        return function

    return later(cheat)


def foreseen_inputs(load):
    """Inputs that begin at one place of the pool, sample after sample, and results kept by what they begin with."""
    random.Random.randrange = lambda *_: 0
    return remembering(lambda x: (x.data_ptr(), x[0, 0].item()))(load)


class _SlowLinear:
    @staticmethod
    def linear(*tensors):
        time.sleep(1e-5)
        return torch.nn.functional.linear(*tensors)


PROVIDERS = {
    "remembers-pointer": remembering(lambda x: x.data_ptr()),
    "remembers-object": remembering(id),
    "remembers-version": remembering(version),
    "remembers-content": remembering(content),
    "remembers-shape": remembering(lambda x: x.shape),
    "later-half-the-rows": later(half_the_rows),
    "later-view-of-the-input": later(view_of_the_input),
    "later-stale-memory": later(stale_memory),
    "stale-memory": stale_memory,
    "found-reference": found_reference,
    "spoilt-inputs": spoilt_inputs,
    "later-spoilt-inputs": later(spoilt_inputs),
    "zeroed-weights": zeroed_weights,
    "lazy-subclass": lazy_subclass,
    "lazy-instance": lazy_instance,
    "in-a-thread": later(in_a_thread),
    "all-at-once": all_at_once,
    "another-precision": another_precision,
    "slow-clock": slow_clock,
    "ruler-clock": ruler_clock,
    "other-code": other_code,
    "lenient-check": lenient_check,
    "slow-activation": slow_activation,
    "hooked-baseline": hooked_baseline,
    "more-threads": more_threads,
    "profiled-rivals": profiled_rivals,
    "remembers-a-few-values": remembering(lambda x: tuple(x.flatten()[:4].tolist())),
    "previous-result": previous_result,
    "filled-at-the-next-call": filled_at_the_next_call,
    "filled-when-dropped": filled_when_dropped,
    "later-another-precision": later(another_precision),
    "one-buffer": one_buffer,
    "honest-at-the-end": honest_at_the_end,
    "slow-class": slow_class,
    "another-layout": another_layout,
    "replaced-parameter": replaced_parameter,
    "other-activation": other_activation,
    "slow-table": slow_table,
    "slow-dispatcher": slow_dispatcher,
    "pinned": pinned,
    "collected": collected,
    "mixed-precision": mixed_precision,
    "several-settings": several_settings,
    "lenient-root": later_replacing(math, "sqrt", lambda _: 1e12),
    "lenient-pieces": later_replacing(torch.Tensor, "reshape", lambda *_: torch.ones(3, dtype=torch.float64)),
    "lenient-norms": later_replacing(torch, "stack", lambda _: torch.ones(3, dtype=torch.float64)),
    "foreseen-inputs": foreseen_inputs,
    "slow-namespace": later_replacing(torch.nn.modules.linear, "F", _SlowLinear),
    "slow-inputs": meddling_providers.slow_inputs,
    "moved-inputs": meddling_providers.moved_inputs,
    "slow-weights": meddling_providers.slow_weights,
    "anomaly-mode": meddling_providers.anomaly_mode,
    "saved-tensors": meddling_providers.saved_tensors,
    "interrupting": meddling_providers.interrupting,
    "profiler-left-on": meddling_providers.profiler_left_on,
    "skipped-calls": meddling_providers.skipped_calls,
    "computed-beforehand": computed_beforehand,
    "slow-look-up": meddling_providers.slow_look_up,
    "slow-own-call": meddling_providers.slow_own_call,
    "mode-left-on": meddling_providers.mode_left_on,
    "autocast": meddling_providers.autocast,
    "several-buffers": several_buffers,
    "monitored-rivals": monitored_rivals,
    "skipped-after-rivals": skipped_after_rivals,
    "computed-after-rivals": computed_after_rivals,
    "compiled-in-place": compiled_in_place,
    "slow-compiled-call": slow_compiled_call,
    "slow-parameters": slow_parameters,
    "other-gradients": other_gradients,
    "told-by-a-gap": told_by_a_gap,
    "wrong-in-later-turns": wrong_in_later_turns,
    "unlimited": OVERLOOKED["unlimited"],
    "other-defaults": OVERLOOKED["other-defaults"],
    "no-bits": OVERLOOKED["no-bits"],
    "hidden-builtin": OVERLOOKED["hidden-builtin"],
    "faster-records": OVERLOOKED["faster-records"],
    "slow-bases": OVERLOOKED["slow-bases"],
    "slow-tracing": OVERLOOKED["slow-tracing"],
    "traced-memory": OVERLOOKED["traced-memory"],
}

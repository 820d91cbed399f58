"""The instrument's means are found again as they were, or named and put back."""

import builtins
import time

import pytest
import torch
from torch import nn
from torch.nn import functional

from benchmarks.ruler.measure import clock, timing
from benchmarks.ruler.referee.tampering import Instrument


@pytest.fixture(scope="module")
def instrument():
    return Instrument()


def test_an_instrument_that_nobody_touched_is_as_it_was(instrument):
    assert instrument.repaired() is None


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (time, "perf_counter", "time.perf_counter"),
        (clock, "perf_counter", "benchmarks.ruler.measure.clock.perf_counter"),
        (timing, "median_interval", "benchmarks.ruler.measure.timing.median_interval"),
        (clock.CpuClock, "timed", "benchmarks.ruler.measure.clock.CpuClock.timed"),
        (torch.cuda, "synchronize", "torch.cuda.synchronize"),
        (torch.autograd, "grad", "torch.autograd.grad"),
        (torch.Tensor, "double", "torch.Tensor.double"),
        (nn.Module, "__call__", "torch.nn.Module.__call__"),
        (functional, "gelu", "torch.nn.functional.gelu"),
        (builtins, "max", "builtins.max"),
    ],
)
def test_what_was_replaced_is_named_and_put_back(instrument, owner, name, said):
    before = getattr(owner, name)
    setattr(owner, name, lambda *_: 0)
    assert instrument.repaired() == f"it replaced {said}"
    assert getattr(owner, name) == before
    assert instrument.repaired() is None


def test_a_name_that_was_deleted_is_put_back(instrument):
    kept = functional.gelu
    del functional.gelu
    assert instrument.repaired() == "it replaced torch.nn.functional.gelu"
    assert functional.gelu is kept


def test_other_code_in_the_same_function_is_seen(instrument):
    honest = timing.warm_up.__code__
    timing.warm_up.__code__ = (lambda *_, **__: 1.0).__code__
    assert instrument.repaired() == "it replaced benchmarks.ruler.measure.timing.warm_up"
    assert timing.warm_up.__code__ is honest


def test_a_setting_of_the_process_is_set_back(instrument):
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    assert "torch.set_num_threads" in instrument.repaired()
    assert torch.get_num_threads() == threads


def test_a_setting_that_was_noted_is_the_right_one(instrument):
    with torch.no_grad():
        assert instrument.repaired() is not None
    instrument.note_settings()
    with torch.no_grad():
        instrument.note_settings()
        assert instrument.repaired() is None
    instrument.note_settings()


def test_hooks_into_every_module_are_taken_out(instrument):
    nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert "every module's call" in instrument.repaired()
    assert instrument.repaired() is None

"""The instrument's means are found again as they were, or named and put back."""

import builtins
import os
import subprocess
import sys
import time
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from benchmarks.ruler.measure import clock, timing
from benchmarks.ruler.referee.tampering import Instrument
from benchmarks.ruler.worker.process import python_path


@pytest.fixture(scope="module")
def taken():
    return Instrument()


@pytest.fixture
def instrument(taken):
    taken.note_settings()  # pytest's time limit sets an alarm for each test
    return taken


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
    assert instrument.repaired() == "it replaced benchmarks.ruler.measure.policy.warm_up"
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


def test_all_that_was_changed_is_put_back_at_once_so_that_the_next_one_is_not_blamed(instrument, monkeypatch):
    instrument.note_settings()
    n_threads = torch.get_num_threads()
    torch.set_num_threads(n_threads + 1)
    torch.set_default_dtype(torch.float64)
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert instrument.repaired() == "it replaced time.perf_counter"
    assert instrument.repaired() is None
    assert torch.get_num_threads() == n_threads
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.parametrize("legacy", [False, True])
def test_a_library_told_to_compute_in_less_precision_is_told_otherwise(instrument, legacy):
    instrument.note_settings()
    if legacy:
        torch.set_float32_matmul_precision("medium")
    else:
        torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    assert "precision sets, for everybody" in instrument.repaired()
    assert instrument.repaired() is None
    assert torch.get_float32_matmul_precision() == "highest"


def test_flushed_denormals_are_kept_again_and_nobody_is_blamed(instrument):
    """Honest code that was compiled with -ffast-math has them flushed as soon as it is loaded."""
    instrument.note_settings()
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot")
    assert instrument.repaired() is None
    tiny = torch.tensor([1e-40])
    assert (tiny * 1.0).item() > 0


def test_an_override_of_an_operator_ends_and_what_only_describes_one_stays(instrument):
    with torch.library._scoped_library("aten", "IMPL") as library, torch.library._scoped_library("mine", "DEF") as mine:
        mine.define("honest(Tensor x) -> Tensor")
        mine.impl("honest", lambda x: x, "CPU")
        assert instrument.repaired() is None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library.impl("relu", lambda x: x * 0, "CPU")
        assert instrument.repaired() == "it overrode aten/relu/CPU, PyTorch's own operator"
        assert torch.ones(1).relu().item() == 1
        assert instrument.repaired() is None
    assert instrument.repaired() is None


def test_what_torch_registers_at_the_first_vmap_is_nobodys_override():
    """In a process of its own, whose first it is."""
    script = """
import torch
from benchmarks.ruler.referee.tampering import Instrument
instrument = Instrument()
torch.vmap(lambda row: row * 2)(torch.ones(2, 3))
assert (found := instrument.repaired()) is None, found
"""
    environment = {"PYTHONPATH": python_path(), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_cores_that_are_taken_from_everybody_are_no_contenders_doing(instrument, monkeypatch):
    instrument.note_settings()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert instrument.repaired() is None

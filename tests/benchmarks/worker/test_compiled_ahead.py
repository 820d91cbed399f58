"""What the first compilation of a process costs, and who is charged for it."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.providers import compiled as compiled_providers
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Built
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.worker import compiled_ahead
from benchmarks.ruler.worker.compiled_ahead import compile_ahead

CPU = torch.device("cpu")
NAMES = ("eager", "compiled", "compiled-dynamic", "compiled-max-autotune-no-cudagraphs")


def test_what_a_process_pays_once_is_charged_to_no_provider(shape, monkeypatch):
    clock = SimpleNamespace(now=0.0, is_first=True)

    def compile_something(*_, **__):
        clock.now += 9.0 if clock.is_first else 1.0
        clock.is_first = False

    load = workload(shape, device=CPU)
    monkeypatch.setattr(compiled_ahead.time, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(compiled_providers, "compile_throwaway", compile_something)
    monkeypatch.setattr(compiled_providers, "found_cold_cache", lambda: True)
    monkeypatch.setattr(providers, "build", lambda *_, **__: Built(function=compile_something))
    contenders = tuple(Contender(provider=name) for name in NAMES)
    announced = []
    cold_s = compile_ahead(contenders, load, module=None, announce=announced.append)
    assert announced == [1, 2, 3]
    # The throwaway stands for nine seconds once; here it runs for each.
    assert cold_s == dict.fromkeys(contenders[1:], 1.0)


def test_where_nobody_can_be_compiled_there_is_no_throwaway_either(monkeypatch):
    def never(*_, **__):
        raise AssertionError("compiled")

    monkeypatch.setattr(compiled_providers, "missing_compiler", lambda: "needs a C++ compiler")
    monkeypatch.setattr(compiled_providers.torch, "compile", never)
    compiled_providers.compile_throwaway.cache_clear()
    compiled_providers.compile_throwaway(CPU, trains=False)
    compiled_providers.compile_throwaway.cache_clear()


def test_who_loses_the_device_while_compiling_ahead_is_told_from_who_comes_next(shape, monkeypatch):
    def fails(contender, *_, **__):
        raise RuntimeError(errors[contender.provider])

    errors = {
        "compiled": "a pattern that inductor has no lowering of",
        "compiled-dynamic": "Triton Error [CUDA]: an illegal memory access was encountered",
    }
    monkeypatch.setattr(compiled_providers, "compile_throwaway", lambda *_, **__: None)
    monkeypatch.setattr(providers, "build", fails)
    contenders = tuple(Contender(provider=name) for name in NAMES[:3])
    announced = []
    with pytest.raises(RuntimeError, match="illegal memory access"):
        compile_ahead(contenders, workload(shape, device=CPU), module=None, announce=announced.append)
    assert announced == [1, 2], "the worker's end is charged to whom was announced last"


SCRIPT = """
import json, time, torch
from benchmarks.ruler.providers.compiled import clear_counters, compile_throwaway, found_cold_cache, graphs_compiled
from torch import nn

compile_throwaway(torch.device("cpu"), trains=False)
clear_counters()
compile_throwaway(torch.device("cpu"), trains=False)
again = graphs_compiled()
seconds = []
for hidden in (48, 64):
    torch._dynamo.reset()
    module = nn.Sequential(nn.Linear(16, hidden), nn.GELU(), nn.Linear(hidden, 16)).requires_grad_(False)
    start = time.perf_counter()
    with torch.inference_mode():
        torch.compile(module, fullgraph=True, dynamic=False)(torch.randn(8, 16))
    seconds.append(time.perf_counter() - start)
print(json.dumps([again, found_cold_cache(), seconds]))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_the_throwaway_the_first_compilation_costs_about_what_the_second_does(request, tmp_path):
    # Without it, the first takes eleven times as long where inductor's folder is empty.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=request.config.rootpath,
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    graphs_of_the_second_throwaway, was_cold, (first, second) = json.loads(done.stdout.splitlines()[-1])
    assert (graphs_of_the_second_throwaway, was_cold) == (0, True)
    assert first < 4 * second

"""The time to a provider's first result."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.worker import first_call
from benchmarks.ruler.worker.first_call import time_first_call

CPU = torch.device("cpu")


@pytest.fixture
def timed(shape, monkeypatch):
    """Times the first call of a builder, on a clock that only the given steps move."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(first_call, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    draw = first_call.workload

    def slowly_drawn(*arguments, **named):
        clock.now += 1000.0
        return draw(*arguments, **named)

    monkeypatch.setattr(first_call, "workload", slowly_drawn)

    def time_it(build):
        monkeypatch.setitem(providers.PROVIDERS, "mine", lambda load: build(load, clock))
        return time_first_call(shape, Contender(provider="mine"), device=CPU)

    return time_it


def test_building_and_the_first_call_count_and_drawing_the_weights_does_not(timed):
    def build(load, clock):
        clock.now += 20.0

        def function(x):
            clock.now += 3.0
            return load.module(x)

        return function

    outcome = timed(build)
    assert (outcome.state, outcome.time_to_first_call_s) == (State.OK, 23.0)


def test_a_provider_that_fails_at_its_first_call_has_a_state_and_no_time(timed):
    def build(*_):
        raise ValueError("no")

    outcome = timed(build)
    assert (outcome.state, outcome.reason, outcome.time_to_first_call_s) == (State.CRASHED, "ValueError: no", None)


def test_a_provider_that_is_unavailable_has_its_reason(timed):
    outcome = timed(lambda *_: "not here")
    assert (outcome.state, outcome.reason) == (State.UNAVAILABLE, "not here")


def test_a_worker_has_imported_nothing_that_a_provider_would_have_to(request):
    script = (
        "import json, sys, benchmarks.ruler.worker.main\n"
        "print(json.dumps([name for name in ('torch._dynamo', 'torch._inductor', 'triton', 'fused_mlp')"
        " if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=request.config.rootpath, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []

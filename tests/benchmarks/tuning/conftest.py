"""A machine whose time passes only while a candidate runs."""

import pytest
import torch

from benchmarks.ruler.measure.clock import Timed
from benchmarks.ruler.measure.policy import Policy as SamplingPolicy
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.tuning import command as tuning_command
from benchmarks.ruler.tuning.candidates import Candidate, Machine
from fused_mlp.vocabulary import Implementation
from tests.benchmarks.tuning.cases import CIRCUMSTANCES, CalmWatch


class FakeClock:
    """Time passes only while a call runs, as much as the call says."""

    def __init__(self):
        self.time_s = 0.0

    def now(self):
        return self.time_s

    def wall(self, call, *, calls):
        start = self.time_s
        for _ in range(calls):
            call()
        return self.time_s - start

    def timed(self, call, *, calls):
        return Timed(self.wall(call, calls=calls), None)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def machine(clock):
    sampling = SamplingPolicy(budget_s=0.02, min_rounds=6)
    cuda_like = {"kind": DeviceKind.CUDA, "device": torch.device("cpu"), "circumstances": CIRCUMSTANCES}
    return Machine(clock=clock, watch=CalmWatch(), sampling=sampling, **cuda_like)


@pytest.fixture
def candidate(clock):
    """A candidate that takes `seconds` a call and gives the right result, unless it is told to do something else."""

    def made(name, seconds, *, spoil=lambda out: out, **rest):
        def build(load):
            def function(x):
                clock.time_s += seconds
                return spoil(load.module(x))

            return function

        return Candidate(name=name, implementation=Implementation.EPILOGUE, build=build, **rest)

    return made


@pytest.fixture
def compete(monkeypatch):
    """Makes these the candidates of every cell."""

    def given(*candidates):
        monkeypatch.setattr(tuning_command, "candidates", lambda *_, **__: candidates)

    return given

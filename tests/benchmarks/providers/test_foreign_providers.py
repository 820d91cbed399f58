"""What a file of providers builds is told in words where it is nothing to time."""

from __future__ import annotations

import pytest
import torch

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.record.outcome import State


@pytest.mark.parametrize(("answer", "told"), [(None, "nothing (None)"), (7, "int, which cannot be called")])
def test_a_build_that_returns_nothing_callable_is_told_what_to_return(shape, monkeypatch, answer, told):
    monkeypatch.setitem(providers.PROVIDERS, "theirs", lambda _: answer)
    load = workload(shape, device=torch.device("cpu"))
    outcome, call = attempt(Contender(provider="theirs"), load, load.reference())
    assert (outcome.state, call) == (State.CRASHED, None)
    assert outcome.reason == (
        f"TypeError: what is registered as 'theirs' returned {told}; return a function or module, x → y, or a string "
        "that says why it is unavailable"
    )


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda out: (out,), "tuple"),
        (lambda out: [out], "list"),
        (lambda _: None, "nothing (None)"),
        (lambda out: out.numpy(), "ndarray"),
    ],
)
def test_a_call_that_returns_no_tensor_is_told_what_to_return(shape, monkeypatch, made, told):
    monkeypatch.setitem(providers.PROVIDERS, "theirs", lambda load: lambda x: made(load.module(x).detach()))
    load = workload(shape, device=torch.device("cpu"))
    outcome, call = attempt(Contender(provider="theirs"), load, load.reference())
    assert (outcome.state, call) == (State.CRASHED, None)
    assert outcome.reason == f"TypeError: its call returned {told}; it is to return y, a tensor"

"""What a file of providers builds is told in words where it is nothing to time."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.measure.attempt import attempt
from benchmarks.ruler.plan.points import Contender, Pass
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import error_rel, workload
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


@pytest.mark.parametrize(
    ("answer", "error"), [(0.0, 0.0), (1e-30, math.inf), (math.nan, math.nan)], ids=["the same", "another", "NaN"]
)
def test_zeros_where_zeros_are_exact_are_right_and_hold_no_nan(answer, error):
    found = error_rel((torch.full((2, 2), answer),), (torch.zeros(2, 2, dtype=torch.float64),))
    assert found == error or (math.isnan(found) and math.isnan(error))


def test_the_gradients_of_a_dead_relu_are_right(shape):
    tiny = replace(shape, pass_=Pass.FORWARD_BACKWARD, activation="relu", batch=1, hidden=1, dim=1)
    load = workload(tiny, device=torch.device("cpu"))
    with torch.no_grad():
        load.module.up.bias.fill_(-1e3)
    outcome, _ = attempt(Contender(provider="eager"), load, load.reference())
    assert (outcome.state, outcome.reason, outcome.error_rel) == (State.OK, None, 0.0)

"""fuse while other threads fuse or compute."""

import copy
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from fused_mlp import fuse, unfuse
from fused_mlp.models.reading.stand_ins import StandInTracer
from tests.kernels.models.blocks import GptStyle, LlamaStyle, expect_close

X = torch.randn(3, 12)


@pytest.fixture
def _many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_many_switches")
def test_threads_that_fuse_at_once_each_get_their_model():
    call = nn.Module.__call__
    models = [nn.Sequential(GptStyle(), LlamaStyle()) for _ in range(8)]
    expected = [model(X).detach() for model in models]
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(fuse, models))
    assert nn.Module.__call__ is call
    for model, report, output in zip(models, reports, expected, strict=True):
        assert [row.operation for row in report.replaced] == ["mlp", "gated_mlp"], str(report)
        expect_close(model(X), output)


@pytest.mark.usefixtures("_many_switches")
def test_threads_that_fuse_one_model_fuse_it_once():
    model = nn.Sequential(GptStyle(), LlamaStyle())
    kinds = [type(module) for module in model.modules()]
    with ThreadPoolExecutor(4) as threads:
        reports = list(threads.map(fuse, [model] * 4))
    assert sorted(len(report.replaced) for report in reports) == [0, 0, 0, 2]
    assert [type(module) for module in unfuse(model).modules()] == kinds


@pytest.mark.usefixtures("_many_switches")
def test_models_of_other_threads_compute_while_one_is_fused(monkeypatch):
    # The model that is fused comes to the other thread's in the middle of being read.
    begun, computed = threading.Event(), threading.Event()

    create_node = StandInTracer.create_node

    def wait_and_create_node(self, *args, **kwargs):
        begun.set()
        assert computed.wait(60)
        return create_node(self, *args, **kwargs)

    monkeypatch.setattr(StandInTracer, "create_node", wait_and_create_node)
    other = nn.Sequential(nn.Linear(12, 4), nn.ReLU())
    expected = copy.deepcopy(other)(X)
    outcome = []

    def compute():
        assert begun.wait(60)
        try:
            outcome.append(other(X))
        finally:
            computed.set()

    thread = threading.Thread(target=compute)
    thread.start()
    fuse(GptStyle())
    thread.join()
    assert len(outcome) == 1, "the other thread's call raised"
    expect_close(outcome[0], expected)

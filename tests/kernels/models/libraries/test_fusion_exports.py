"""Fused models handed to what writes them down: TorchScript and ONNX."""

import copy
import io
import re

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.onnx._internal.exporter import _flags

from fused_mlp import fuse
from tests.kernels.models.blocks import GptStyle, LlamaStyle, expect_close

X = torch.randn(3, 12)
OPERATION = re.compile(r"fused_mlp(::|\.)mlp")
MODES = ("training", "inference")


class Scripted(nn.Module):
    """A forward that reads names of this module, in a class with annotations."""

    scale: int

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 20)
        self.second = nn.Linear(20, 12)
        self.scale = 3

    def forward(self, x):
        return self.second(functional.silu(self.first(x))) * self.scale


def fused_and_twin(mode):
    model = nn.Sequential(GptStyle(), LlamaStyle(), Scripted()).eval()
    twin = copy.deepcopy(model)
    assert len(fuse(model, mode=mode).replaced) == 3
    return model, twin


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
def test_a_fused_model_is_scripted_as_its_code_is_and_stays_what_it_is(mode):
    model, twin = fused_and_twin(mode)
    modules = list(model.modules())
    kinds = [type(module) for module in modules]
    scripted = torch.jit.script(model)
    assert all(now is before for now, before in zip(model.modules(), modules, strict=True))
    assert [type(module) for module in modules] == kinds
    assert list(scripted.state_dict()) == list(twin.state_dict())
    expect_close(scripted(X), twin(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
def test_a_fused_model_is_written_for_onnx_as_its_twin_is(mode):
    pytest.importorskip("onnx")
    written = []
    for model in fused_and_twin(mode):
        file = io.BytesIO()
        torch.onnx.export(model, (X,), file, dynamo=False)
        written.append(file.getvalue())
    assert written[0] == written[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "graph_of",
    [
        lambda model: torch.jit.trace(model, (X,)).inlined_graph,
        lambda model: torch.export.export(model, (X,)).graph,
    ],
    ids=["trace", "export"],
)
@pytest.mark.parametrize("mode", MODES)
def test_what_becomes_a_file_for_onnx_has_the_block_s_own_code(graph_of, mode, monkeypatch):
    model, _ = fused_and_twin(mode)
    if mode == "training":
        assert OPERATION.search(str(graph_of(model)))
    # What torch.onnx sets while it exports; the last step of it needs more than torch.
    monkeypatch.setattr(_flags, "_is_onnx_exporting", True)
    graph = str(graph_of(model))
    assert "aten.linear" in graph or "aten::linear" in graph
    assert not OPERATION.search(graph)
